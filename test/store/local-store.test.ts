// tier: integration
import { storeConformance } from './conformance';
import { LocalStore } from '../../store';
import { temporaryStore } from './temporary-store';

const { folder } = temporaryStore();
storeConformance('A store in a local directory', () => new LocalStore(folder));
