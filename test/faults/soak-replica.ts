/** A fake model server in a process of its own, so that it can be killed: `node soak-replica.js PORT`. */
import { FakeReplica } from '../fakes/replica';

const replica = new FakeReplica();
// It only has to answer; what it saw would grow for half an hour.
setInterval(() => {
  replica.requests.length = 0;
  replica.history.length = 0;
}, 100);
replica.start(Number(process.argv[2])).then(
  () => console.log('listening'),
  (error: unknown) => {
    console.error(error);
    process.exit(1);
  },
);
