export {
  type DurableObjectLog,
  type DurableObjectLogOptions,
  type DurableObjectStorage,
  durableObjectLog,
  type SqlCursor,
} from './durable-object-log.ts';
