// Command build writes ../whetstone-trainer.json, the seccomp profile of pods in which the jail starts: containerd's default profile for a
// container without capabilities, plus what bubblewrap builds a jail of, minus what the jail denies as well.
//
//	go -C k8s/seccomp/build run . [--check]
//
// With --check it only says whether the committed file is up to date. The file's layout is prettier's, so contents are compared.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"

	"github.com/containerd/containerd/contrib/seccomp"
	"github.com/opencontainers/runtime-spec/specs-go"
)

const path = "../whetstone-trainer.json"

// Of these bubblewrap makes namespaces and the jail's tree. The kernel asks for capabilities that only a namespace's own maker has.
var added = []string{"clone", "mount", "pivot_root", "sethostname", "umount2"}

// Not needed by trainer or worker, and denied in the jail: the machine's clock, io_uring (it opens sockets past a filter), files by
// handle, other processes' memory, segments of 16-bit code.
var removed = []string{
	"adjtimex", "clock_adjtime", "clock_adjtime64", "io_uring_enter", "io_uring_register", "io_uring_setup", "modify_ldt",
	"name_to_handle_at", "process_vm_readv", "process_vm_writev", "ptrace",
}

// Calls of 32-bit ARM, which the default profile names when it is compiled for ARM; there is no such architecture below.
var foreign = []string{"arm_fadvise64_64", "arm_sync_file_range", "breakpoint", "cacheflush", "set_tls", "sync_file_range2"}

// Named by the default profile only when it is compiled for x86_64; the C library needs it there.
const perArch = "arch_prctl"

func main() {
	profile := derive()
	if len(os.Args) > 1 && os.Args[1] == "--check" {
		check(profile)
		return
	}
	text, err := json.MarshalIndent(profile, "", "  ")
	fail(err)
	fail(os.WriteFile(path, append(text, '\n'), 0o644))
	fmt.Println("k8s/seccomp/whetstone-trainer.json written; format it with `npm run format`")
}

func derive() *specs.LinuxSeccomp {
	profile := seccomp.DefaultProfile(&specs.Spec{Process: &specs.Process{Capabilities: &specs.LinuxCapabilities{}}})
	profile.Architectures = []specs.Arch{specs.ArchX86_64, specs.ArchAARCH64}
	kept := []specs.LinuxSyscall{}
	for _, rule := range profile.Syscalls {
		rule.Names = slices.DeleteFunc(slices.Clone(rule.Names), func(name string) bool {
			// Without its masked rule, clone may be given the namespaces' flags.
			return name == "clone" || name == perArch || slices.Contains(removed, name) || slices.Contains(foreign, name)
		})
		if len(rule.Args) == 0 {
			rule.Args = nil
		}
		if len(rule.Names) > 0 {
			kept = append(kept, rule)
		}
	}
	profile.Syscalls = append(kept, specs.LinuxSyscall{Names: append([]string{perArch}, added...), Action: specs.ActAllow})
	return profile
}

func check(profile *specs.LinuxSeccomp) {
	text, err := os.ReadFile(path)
	fail(err)
	var committed specs.LinuxSeccomp
	fail(json.Unmarshal(text, &committed))
	if !reflect.DeepEqual(&committed, profile) {
		fmt.Fprintln(os.Stderr, "k8s/seccomp/whetstone-trainer.json is out of date")
		os.Exit(1)
	}
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
