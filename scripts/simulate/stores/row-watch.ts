import { type SessionId, sessionId } from '@millrace/core';
import type { Row, Table } from '@millrace/server';
import type { Machine, World } from '../world.ts';
import type { Disk } from './disk.ts';
import type { SharedRows } from './model-rows.ts';

/** How long a wrong status may stay until the driver of the task corrects it. */
const graceMs = 10_000;

interface RowWatchOptions {
  readonly world: World;
  readonly disk: Disk;
  readonly rows: SharedRows;
  /** The machine whose timers check the rows. */
  readonly machine: Machine;
}

/**
 * Checks that no row says that a task has ended while a driver works on it. An old server may write
 * such a status just before the new driver claims the row, and the claim corrects it.
 */
export class RowWatch {
  readonly #options: RowWatchOptions;

  constructor(options: RowWatchOptions) {
    this.#options = options;
  }

  /** Call it after each write. */
  onWrite(table: Table, row: Row): void {
    const { world, machine } = this.#options;
    if (table !== 'tasks' || row.data['status'] === 'RUNNING') return;
    const session = sessionId(row.id);
    const epoch = this.#drivenBy(session);
    if (epoch === undefined) return;
    world.schedule(machine, graceMs, 'checks a row', () => this.#recheck(row, session, epoch));
  }

  /** The epoch of the live driver with open work. */
  #drivenBy(session: SessionId): number | undefined {
    const { disk } = this.#options;
    const { openWork = [], epoch } = disk.state.sessions.get(session)?.row ?? {};
    return openWork.length > 0 && disk.leases.isDriven(session) ? epoch : undefined;
  }

  #recheck({ id, version, data }: Row, session: SessionId, epoch: number): void {
    const { world, rows } = this.#options;
    const now = rows.state.get('tasks')?.get(id);
    if (now?.version !== version || this.#drivenBy(session) !== epoch) return;
    world.fail(`Task ${id}: the row says ${data['status']}, but epoch ${epoch} drives the task`);
  }
}
