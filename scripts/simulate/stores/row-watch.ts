import { type SessionId, sessionId } from '@millrace/core';
import type { Row, Table } from '@millrace/server';
import type { Machine, World } from '../world.ts';
import type { Disk } from './disk.ts';
import type { SharedRows } from './model-rows.ts';

/**
 * Maximum time that a wrong status may stay. Within this time, the driver of the task must correct
 * it.
 */
const graceMs = 10_000;

interface RowWatchOptions {
  readonly world: World;
  readonly disk: Disk;
  readonly rows: SharedRows;
  /** The machine on which the checks run. */
  readonly machine: Machine;
}

/**
 * Checks that no row has an end status while a driver works on its task. An old server may write
 * this status just before the new driver claims the row. The claim then corrects it.
 */
export class RowWatch {
  readonly #options: RowWatchOptions;

  constructor(options: RowWatchOptions) {
    this.#options = options;
  }

  /** Checks a row. Call it after each write. */
  onWrite(table: Table, row: Row): void {
    const { world, machine } = this.#options;
    if (table !== 'tasks' || row.data['status'] === 'RUNNING') return;
    const session = sessionId(row.id);
    const epoch = this.#drivenBy(session);
    if (epoch === undefined) return;
    world.schedule(machine, graceMs, 'checks a row', () => this.#recheck(row, session, epoch));
  }

  /**
   * Returns the epoch of the live driver if the session has open work. Otherwise returns undefined.
   */
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
