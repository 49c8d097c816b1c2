import type { Log } from '../contract/log.ts';

const written: ReadonlySet<PropertyKey> = new Set(['open', 'settle', 'submit', 'delete']);

/** One log to write with and another to read with, as two processes have them. */
export function splitLog(writer: Log, reader: Log): Log {
  return new Proxy(reader, {
    get(_, name) {
      const log = written.has(name) ? writer : reader;
      const value: unknown = Reflect.get(log, name, log);
      return typeof value === 'function' ? value.bind(log) : value;
    },
  });
}
