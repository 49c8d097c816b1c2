import type { Admission } from '@millrace/log';
import { type CommitPoint, commitPoints } from '../../packages/log/src/storage/record-store.ts';
import { startProcess } from '../../packages/log/src/testing/start-process.ts';
import type { Told } from './history.ts';
import type {
  DriverOrder,
  Order,
  ProducerOrder,
  ReaderOrder,
  Said,
  SubmitterOrder,
} from './messages.ts';
import type { Randomness } from './randomness.ts';

export type Task = DriverOrder | ProducerOrder | ReaderOrder | SubmitterOrder;

export type Role = Task['role'];

interface CastOptions {
  readonly path: string;
  readonly codeCache: string;
  readonly told: Told;
  readonly onDeath: (role: Role, where: string) => void;
  readonly onAdmitted: (admission: Admission) => void;
}

export interface Actor {
  readonly task: Task;
  /** Never, where it dies before. */
  readonly ready: Promise<unknown>;
  readonly exit: Promise<unknown>;
  send(order: unknown): void;
  kill(): void;
  /** Nobody kills it any more. */
  spare(): void;
}

const program = new URL('worker-process.ts', import.meta.url);

/** The processes that play in a round: starts them, hears them, kills them when it is time, counts the dead. */
export class Cast {
  readonly #options: CastOptions;
  readonly #living = new Set<Actor>();

  constructor(options: CastOptions) {
    this.#options = options;
  }

  get living(): readonly Actor[] {
    return [...this.#living];
  }

  start(task: Task, name: string, seed: number, death?: Death): Actor {
    const { path, codeCache, told } = this.#options;
    const ready = Promise.withResolvers<void>();
    const order: Order = { ...task, name, path, seed, death: pointOf(death) };
    const args = [JSON.stringify(order)];
    const onTold = (value: unknown) => {
      const said = value as Said;
      if (said.type === 'ready') ready.resolve();
      told.hear(name, said);
      if (said.type === 'admitted') this.#options.onAdmitted(said.admission);
    };
    const { kill, send, exit } = startProcess(program, { args, codeCache, onTold });
    let isKilled = false;
    let timer: NodeJS.Timeout | undefined;
    const strike = () => {
      isKilled = true;
      kill('SIGKILL');
    };
    const doom = () => {
      if (death !== undefined) timer = setTimeout(strike, death.afterMs);
    };
    if (death?.isFromStart) doom();
    else ready.promise.then(doom, () => {});
    const actor: Actor = {
      task,
      ready: ready.promise,
      exit: exit.then(({ code, signal, stderr }) => {
        clearTimeout(timer);
        this.#living.delete(actor);
        const where = isKilled ? 'anywhere' : (death?.point ?? 'unknown');
        if (signal === 'SIGKILL') this.#options.onDeath(task.role, where);
        else if (code !== 0) told.failures.push(`${name} ended: ${code ?? signal} ${stderr}`);
      }),
      send,
      kill: strike,
      spare: () => clearTimeout(timer),
    };
    this.#living.add(actor);
    return actor;
  }
}

function pointOf(death: Death | undefined): Order['death'] {
  return death?.point === undefined ? undefined : { point: death.point, passes: death.passes };
}

/** How a process is to die: at a named point, or when the time has come, whatever it does then. */
interface Death {
  readonly point: CommitPoint | undefined;
  readonly passes: number;
  /** Counted from its start, or from when it is ready. */
  readonly afterMs: number;
  readonly isFromStart: boolean;
}

const latestMs = 2000;

export function randomDeath(random: Randomness, isReader: boolean): Death {
  const isAtPoint = !isReader && !random.oneIn(4);
  const isFromStart = !isAtPoint && random.oneIn(6);
  const soonMs = isFromStart ? random.below(200) : random.below(isReader ? 1000 : 400);
  return {
    point: isAtPoint ? random.oneOf(commitPoints) : undefined,
    passes: random.oneOf([1, 2, random.between(3, 30), random.between(30, 150)]),
    // One that does not come by its point dies all the same.
    afterMs: isAtPoint ? latestMs : soonMs,
    isFromStart,
  };
}
