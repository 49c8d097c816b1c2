import type { Batch, DraftRecord } from '@millrace/core';
import type { Driver, Log } from '@millrace/log';

/** The same log, with these instead of its own. */
export function withMethods(log: Log, own: Partial<Log>): Log {
  return new Proxy(log, {
    get(target, name) {
      const value: unknown = Reflect.get(name in own ? own : target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

/** The same log, whose drivers do this before each append. */
export function withDelay(
  log: Log,
  before: (drafts: readonly DraftRecord[]) => Promise<void>,
): Log {
  return withAppends(log, async (append, drafts) => {
    await before(drafts);
    return append();
  });
}

/** The same log, with this around each append of its drivers. */
export function withAppends(
  log: Log,
  around: (append: () => Promise<Batch>, drafts: readonly DraftRecord[]) => Promise<Batch>,
): Log {
  const delayed = (driver: Driver): Driver => ({
    ...{ session: driver.session, epoch: driver.epoch, lost: driver.lost },
    append: (drafts) => around(() => driver.append(drafts), drafts),
    admit: (options) => driver.admit(options),
    closeSession: () => driver.closeSession(),
    release: () => driver.release(),
    leave: () => driver.leave(),
  });
  const open: Log['open'] = async (...given) => delayed(await log.open(...given));
  return withMethods(log, { open });
}
