// Command build writes ../whetstone-trainer.json, the seccomp profile of pods in which the jail can start. It is
// containerd's default profile for a container without capabilities, plus the calls with which bubblewrap builds the
// jail, minus calls that the jail denies as well.
//
//	go -C k8s/seccomp/build run . [--check]
//
// With --check it only says whether the committed file is up to date. It compares contents, because prettier formats
// the file.
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

// Calls with which bubblewrap makes namespaces and the jail's file tree. The kernel requires capabilities for them, and
// the creator of a user namespace has these only inside of it.
var added = []string{"clone", "mount", "pivot_root", "sethostname", "umount2"}

// Calls that trainer and worker do not need and that the jail denies: setting the machine's clock, io_uring (it opens
// sockets without passing the filter), files by handle, memory of other processes, segments of 16-bit code.
var removed = []string{
	"adjtimex", "clock_adjtime", "clock_adjtime64", "io_uring_enter", "io_uring_register", "io_uring_setup", "modify_ldt",
	"name_to_handle_at", "process_vm_readv", "process_vm_writev", "ptrace",
}

// Calls of 32-bit ARM. The default profile names them when it is compiled for ARM; this one has no such architecture.
var foreign = []string{
	"arm_fadvise64_64", "arm_sync_file_range", "breakpoint", "cacheflush", "set_tls", "sync_file_range2",
}

// The C library needs this call on x86_64. The default profile names it only when it is compiled there.
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
			// Dropping the rule that masks clone's flags allows it to create namespaces.
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
