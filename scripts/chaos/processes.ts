import type { Admission } from '@millrace/log';
import { type CommitPoint, commitPoints } from '../../packages/log/src/storage/record-store.ts';
import { startProcess } from '../../packages/log/src/testing/start-process.ts';
import type { HistoryRecorder } from './history.ts';
import type {
  Assignment,
  ClockStep,
  ContenderTask,
  DriverTask,
  ProducerTask,
  ReaderTask,
  Report,
  SubmitterTask,
} from './messages.ts';
import type { Randomness } from './randomness.ts';

export type Task = DriverTask | ProducerTask | ReaderTask | SubmitterTask | ContenderTask;

export type Role = Task['role'];

interface ProcessPoolOptions {
  /** The file of the SQLite log. */
  readonly path: string;
  readonly codeCache: string;
  readonly history: HistoryRecorder;
  /** Called after a process is killed. `where` is the commit point of the kill, or `anywhere`. */
  readonly onKilled: (role: Role, where: string) => void;
  readonly onAdmitted: (admission: Admission) => void;
  /** Called when a driver has lost a session. */
  readonly onFenced: (process: string, session: string) => void;
}

/** The faults that are planned for a process. */
export interface ProcessPlan {
  readonly kill?: KillPlan | undefined;
  readonly clockStep?: ClockStep | undefined;
}

export interface RunningProcess {
  readonly task: Task;
  readonly name: string;
  /**
   * Resolves when the process is ready. If the process is killed before that, it never resolves.
   */
  readonly ready: Promise<unknown>;
  readonly exit: Promise<unknown>;
  send(message: unknown): void;
  kill(): void;
  /** Resolves when the process has paused itself. */
  readonly paused: Promise<unknown>;
  resume(): void;
  /** Cancels the planned kill. */
  cancelKill(): void;
}

const program = new URL('worker-process.ts', import.meta.url);

/** Starts the worker processes of a round, records their reports and kills them as planned. */
export class ProcessPool {
  readonly #options: ProcessPoolOptions;
  readonly #running = new Set<RunningProcess>();

  constructor(options: ProcessPoolOptions) {
    this.#options = options;
  }

  get running(): readonly RunningProcess[] {
    return [...this.#running];
  }

  start(task: Task, name: string, seed: number, plan: ProcessPlan): RunningProcess {
    const { kill: killPlan, clockStep } = plan;
    const { path, codeCache, history } = this.#options;
    const ready = Promise.withResolvers<void>();
    const paused = Promise.withResolvers<void>();
    const selfKill = selfKillOf(killPlan);
    const assignment: Assignment = { ...task, name, path, seed, selfKill, clockStep };
    const args = [JSON.stringify(assignment)];
    const onReport = (value: unknown) => {
      const report = value as Report;
      if (report.type === 'ready') ready.resolve();
      if (report.type === 'paused') paused.resolve();
      history.add(name, report);
      if (report.type === 'fenced') this.#options.onFenced(name, report.session);
      if (report.type === 'admitted') this.#options.onAdmitted(report.admission);
    };
    const { kill, send, exit } = startProcess(program, { args, codeCache, onMessage: onReport });
    let isKilled = false;
    let timer: NodeJS.Timeout | undefined;
    const killNow = () => {
      isKilled = true;
      kill('SIGKILL');
    };
    const scheduleKill = () => {
      if (killPlan !== undefined) timer = setTimeout(killNow, killPlan.afterMs);
    };
    if (killPlan?.isFromStart) scheduleKill();
    else ready.promise.then(scheduleKill, () => {});
    const started: RunningProcess = {
      task,
      name,
      ready: ready.promise,
      paused: paused.promise,
      exit: exit.then(({ code, signal, stderr }) => {
        clearTimeout(timer);
        this.#running.delete(started);
        const where = isKilled ? 'anywhere' : (killPlan?.point ?? 'unknown');
        if (signal === 'SIGKILL') this.#options.onKilled(task.role, where);
        else if (code !== 0)
          history.failures.push(`${name} exited unexpectedly: ${code ?? signal} ${stderr}`);
      }),
      send,
      kill: killNow,
      resume: () => kill('SIGCONT'),
      cancelKill: () => clearTimeout(timer),
    };
    this.#running.add(started);
    return started;
  }
}

function selfKillOf(killPlan: KillPlan | undefined): Assignment['selfKill'] {
  return killPlan?.point === undefined
    ? undefined
    : { point: killPlan.point, passes: killPlan.passes };
}

/** The plan to kill a process: at a named commit point, or after a time. */
interface KillPlan {
  readonly point: CommitPoint | undefined;
  /** The process is killed when it passes the commit point for the n-th time. */
  readonly passes: number;
  /** The delay in ms. It starts when the process starts, or when the process is ready. */
  readonly afterMs: number;
  readonly isFromStart: boolean;
}

const latestMs = 2000;

/**
 * Returns a random plan to kill a process. Readers do not commit, so their plan has only a time.
 */
export function randomKillPlan(random: Randomness, isReader: boolean): KillPlan {
  const isAtPoint = !isReader && !random.oneIn(4);
  const isFromStart = !isAtPoint && random.oneIn(6);
  const soonMs = isFromStart ? random.below(200) : random.below(isReader ? 1000 : 400);
  return {
    point: isAtPoint ? random.oneOf(commitPoints) : undefined,
    passes: random.oneOf([1, 2, random.between(3, 30), random.between(30, 150)]),
    // If the process never reaches its commit point, it is killed after this time.
    afterMs: isAtPoint ? latestMs : soonMs,
    isFromStart,
  };
}

const steps = [-3_600_000, -20_000, 20_000, 3_600_000] as const;

/**
 * Returns a random change of the clock of a process. Each contender gets one. Of the other
 * processes, one in three gets one.
 */
export function randomClockStep(random: Randomness, isContender: boolean): ClockStep | undefined {
  if (!isContender && !random.oneIn(3)) return undefined;
  return { byMs: random.oneOf(steps), afterMs: random.below(300) };
}
