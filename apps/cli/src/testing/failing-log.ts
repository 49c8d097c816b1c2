import { type Driver, type Log, LogError } from '@millrace/log';

/** A log that rejects all writes while `isFull` is true, as on a full disk. */
interface FailingLog {
  readonly log: Log;
  isFull: boolean;
}

export function failingLog(log: Log): FailingLog {
  const full = () => new LogError('storage', 'Cannot use the log: the disk is full; make room');
  const failing: FailingLog = {
    isFull: false,
    log: new Proxy(log, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== 'function') return value;
        const call = value.bind(target) as (...args: unknown[]) => unknown;
        if (name === 'submit')
          return (...args: unknown[]) => (failing.isFull ? Promise.reject(full()) : call(...args));
        if (name !== 'open') return call;
        return async (...args: unknown[]) => {
          if (failing.isFull) throw full();
          const driver = (await call(...args)) as Driver;
          return withAppend(driver, () => (failing.isFull ? full() : undefined));
        };
      },
    }),
  };
  return failing;
}

function withAppend(driver: Driver, problem: () => Error | undefined): Driver {
  return new Proxy(driver, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      const call = value.bind(target) as (...args: unknown[]) => unknown;
      if (name !== 'append') return call;
      return (...args: unknown[]) => {
        const error = problem();
        return error === undefined ? call(...args) : Promise.reject(error);
      };
    },
  });
}
