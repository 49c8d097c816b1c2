export { type IndexedDbLog, type IndexedDbLogOptions, indexedDbLog } from './indexeddb-log.ts';
