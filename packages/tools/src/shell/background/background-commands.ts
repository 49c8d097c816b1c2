import {
  type Clock,
  type RunningOutputRequest,
  type RunningOutputs,
  systemClock,
  type ToolContext,
  type ToolOutput,
} from '@millrace/agent';
import { toArray } from '@millrace/core';
import type { Log } from '@millrace/log';
import { assertKnownOptions } from '../../known-options.ts';
import type { CommandOutcome } from '../run-command.ts';
import {
  commandsOf,
  contentsOf,
  describeEnd,
  endKey,
  endMetadata,
  findLostCommands,
  isLost,
  type LoggedCommand,
  lostEnd,
  reportLostCommands,
  startMetadata,
  stoppedBySandbox,
} from './commands-on-log.ts';
import type { LiveOutput } from './live-output.ts';
import { ownerMark } from './owner-process.ts';

/** Options of `backgroundCommands`. */
export interface BackgroundCommandsOptions {
  /** Maximum number of running commands in a session. Default: 8. */
  readonly maxRunning?: number | undefined;
  /** The clock for waiting times. Default: the system clock. */
  readonly clock?: Clock | undefined;
}

/** A command that runs in the background, or has ended. */
export interface BackgroundCommand {
  /** The id of the command in its session, for example `c1`. */
  readonly id: string;
  readonly command: string;
  /** The time of the start, in milliseconds since 1970. */
  readonly startedAt: number;
  /** A part of a sentence about the end, such as `ended with exit code 0`. Undefined while it runs. */
  readonly end: string | undefined;
  /** The last line of the command's output that is not empty. It can contain control characters. */
  readonly lastLine: string;
}

/**
 * The commands that continue while the model works. Pass the same object to `bashTool` and, as `running`, to
 * `readOutputTool`. Commands run in this process, and end with it.
 */
export interface BackgroundCommands extends RunningOutputs {
  /** Returns the commands of a session, oldest first. Only the last commands that ended are included. */
  list(session: string): readonly BackgroundCommand[];
  /** The number of commands that run now, in all sessions. */
  readonly running: number;
  /**
   * Stops a command on behalf of the user. The model gets a message about it. Returns false if no such
   * command runs. Resolves when the command has ended.
   */
  stop(session: string, id: string): Promise<boolean>;
  /**
   * Stops all commands of a session without a message to the model, because the session is left. Returns
   * these commands.
   */
  end(session: string): Promise<readonly BackgroundCommand[]>;
  /** Stops all commands. No command can start afterwards. */
  close(): Promise<void>;
  /** Finds the commands of a session that ended together with their process. */
  findLost(log: Log, session: string): Promise<readonly LoggedCommand[]>;
  /**
   * Tells the model that commands were lost. Call it before the next run of the session. `end` is the text that
   * describes how they ended. Default: `was lost when the program ended`.
   */
  reportLost(
    log: Log,
    session: string,
    lost: readonly Pick<LoggedCommand, 'id' | 'command'>[],
    end?: string | undefined,
  ): Promise<void>;
  /** Returns true if a further command can run in the session. */
  hasRoom(session: string): boolean;
  /**
   * Reserves the place and the id of a command that is about to start. Throws if too many commands run.
   * `bashTool` calls it.
   */
  reserve(context: StartContext): ReservedPlace;
  /** Registers a command that has started, and returns its result for the model. `bashTool` calls it. */
  add(started: StartedCommand, context: StartContext): ToolOutput;
}

/** The place of a command that is about to start. */
export interface ReservedPlace {
  readonly id: string;
  /** Gives the place back. Call it after `add`, or if the command did not start. */
  release(): void;
}

type StartContext = Pick<ToolContext, 'session' | 'sessionState' | 'notify'>;

/** A command that has started. */
export interface StartedCommand {
  readonly command: string;
  readonly output: LiveOutput;
  /** Stops the command. */
  readonly stop: AbortController;
  /** Resolves when all its processes have ended and its output is complete. */
  readonly ended: Promise<EndedCommand>;
  /** The reserved id. Default: the next id. */
  readonly id?: string | undefined;
  /** A text that precedes the result for the model. Default: none. */
  readonly before?: string | undefined;
}

/** The end of a command, with sentences for the model about the sandbox. */
export interface EndedCommand {
  readonly outcome: CommandOutcome;
  readonly notes: readonly string[];
}

/**
 * Creates the list of background commands for one or more agents.
 *
 * @example
 * const background = backgroundCommands();
 * const tools = [bashTool({ workspace, background }), readOutputTool({ running: background })];
 */
export function backgroundCommands(options: BackgroundCommandsOptions = {}): BackgroundCommands {
  assertKnownOptions('backgroundCommands', options, { maxRunning: true, clock: true });
  return new CommandList(options.maxRunning ?? 8, options.clock ?? systemClock);
}

/** The end of a command that the user stopped. */
export const stoppedByUser = 'was stopped by the user';

/** Maximum length of the notes about the sandbox that programs show to the user. */
const maxShownNotes = 2000;

/** Maximum number of ended commands of a session whose output can still be read. */
const maxEnded = 20;

interface Entry extends Omit<StartedCommand, 'id'> {
  readonly id: string;
  readonly session: string;
  readonly startedAt: number;
  readonly done: Promise<void>;
  end: string | undefined;
  notes: readonly string[];
  /** The position up to which the model has read the output. */
  position: number;
  /**
   * Number of calls that wait for the end of the command. The results of these calls report the end, so no
   * message is needed.
   */
  waiting: number;
  /** The person or the model that stopped the command. With `nobody`, no message is sent. */
  stoppedBy: 'user' | 'model' | 'nobody' | undefined;
}

class CommandList implements BackgroundCommands {
  readonly #maxRunning: number;
  readonly #clock: Clock;
  readonly #owner = ownerMark();
  readonly #entries = new Map<string, Entry[]>();
  /** The highest number of a command per session. */
  readonly #numbers = new Map<string, number>();
  /** The number of commands per session that are about to start. */
  readonly #starting = new Map<string, number>();
  #isClosed = false;

  constructor(maxRunning: number, clock: Clock) {
    this.#maxRunning = maxRunning;
    this.#clock = clock;
  }

  get running(): number {
    return [...this.#entries.values()].flat().filter(({ end }) => end === undefined).length;
  }

  list(session: string): readonly BackgroundCommand[] {
    return this.#of(session).map(view);
  }

  hasRoom(session: string): boolean {
    const running = this.#of(session).filter(({ end }) => end === undefined).length;
    return !this.#isClosed && running + (this.#starting.get(session) ?? 0) < this.#maxRunning;
  }

  reserve(context: StartContext): ReservedPlace {
    const { session } = context;
    if (!this.hasRoom(session)) {
      const running = this.#of(session).filter(({ end }) => end === undefined);
      const ids = running.map(({ id }) => id).join(', ');
      const why = this.#isClosed ? 'the session ends' : `too many run already (${ids}). Stop one`;
      throw new Error(`Cannot start a background command: ${why}. Nothing was run`);
    }
    const count = (change: number) =>
      this.#starting.set(session, (this.#starting.get(session) ?? 0) + change);
    count(1);
    return { id: `c${this.#nextNumber(context)}`, release: () => void count(-1) };
  }

  add(started: StartedCommand, context: StartContext): ToolOutput {
    const { session, notify } = context;
    const { command, before } = started;
    const id = started.id ?? `c${this.#nextNumber(context)}`;
    const entry: Entry = {
      ...{ ...started, id, session, startedAt: this.#clock.now(), notes: [] },
      ...{ end: undefined, position: 0, waiting: 0, stoppedBy: undefined },
      done: started.ended.then(
        ({ outcome, notes }) => this.#finish(entry, describeEnd(outcome), notes, notify),
        () => this.#finish(entry, 'could not be observed until its end', [], notify),
      ),
    };
    this.#entries.set(session, [...this.#of(session), entry]);
    const text = `It runs in the background as ${id}. You get a message when it ends.`;
    return {
      output: {
        text: before === undefined ? text : `${before}\n[${text}]`,
        value: { background: id },
        metadata: startMetadata(id, command, this.#owner),
      },
    };
  }

  async read(id: string, request: RunningOutputRequest): Promise<ToolOutput | undefined> {
    const { session, start, length, waitMs = 0, stop = false, signal } = request;
    const entry = this.#of(session).find((one) => one.id === id);
    if (entry === undefined) return describeUnknown(id, request, this.#owner);
    if (stop && entry.end === undefined) {
      entry.stoppedBy ??= 'model';
      entry.stop.abort();
    }
    if (entry.end === undefined && (stop || waitMs > 0))
      await this.#waitFor(entry, stop ? undefined : waitMs, signal);
    const { text, next, hasMore } = await entry.output.read(start ?? entry.position, length);
    if (start === undefined) entry.position = next;
    const { end, command } = entry;
    const state = end === undefined ? `${id} is running` : `${id} ${end}`;
    const further = hasMore ? [`… go on with start ${next} …`] : [];
    const notes = [...further, state, ...(end === undefined ? [] : entry.notes)];
    const lines = [text.trimEnd() || 'No new output.', ...notes.map((note) => `[${note}]`)];
    return {
      output: {
        text: lines.join('\n'),
        ...(end !== undefined && { metadata: endMetadata(id, command, end) }),
      },
    };
  }

  async stop(session: string, id: string): Promise<boolean> {
    const entry = this.#of(session).find((one) => one.id === id && one.end === undefined);
    if (entry === undefined) return false;
    await this.#end([entry], 'user');
    return true;
  }

  async end(session: string): Promise<readonly BackgroundCommand[]> {
    const running = this.#of(session).filter(({ end }) => end === undefined);
    await this.#end(running, 'nobody');
    await this.#forget(this.#of(session));
    this.#entries.delete(session);
    return running.map(view);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#entries.keys()].map((session) => this.end(session)));
  }

  findLost(log: Log, session: string): Promise<readonly LoggedCommand[]> {
    const isRunning = (id: string) => this.#of(session).some((one) => one.id === id);
    return findLostCommands(log, session, { isRunning, owner: this.#owner });
  }

  reportLost(
    log: Log,
    session: string,
    lost: readonly Pick<LoggedCommand, 'id' | 'command'>[],
    end?: string,
  ): Promise<void> {
    return reportLostCommands(log, session, lost, end);
  }

  #of(session: string): readonly Entry[] {
    return this.#entries.get(session) ?? [];
  }

  /** Returns a number that no earlier command of the session has, also not one of a different process. */
  #nextNumber({ session, sessionState }: StartContext): number {
    const items = sessionState === undefined ? [] : toArray(sessionState().items);
    const used = commandsOf(contentsOf(items)).map(({ id }) => Number(id.slice(1)));
    const next = 1 + Math.max(0, this.#numbers.get(session) ?? 0, ...used);
    this.#numbers.set(session, next);
    return next;
  }

  async #end(entries: readonly Entry[], by: 'user' | 'nobody'): Promise<void> {
    for (const entry of entries) {
      entry.stoppedBy ??= by;
      entry.stop.abort();
    }
    await Promise.all(entries.map(({ done }) => done));
  }

  async #waitFor(entry: Entry, ms: number | undefined, signal: AbortSignal): Promise<void> {
    const over = Promise.withResolvers<void>();
    const cancel = ms === undefined ? () => {} : this.#clock.after(ms, over.resolve);
    const onAbort = () => over.resolve();
    signal.addEventListener('abort', onAbort);
    if (signal.aborted) onAbort();
    entry.waiting++;
    try {
      await Promise.race([entry.done, over.promise]);
    } finally {
      entry.waiting--;
      cancel();
      signal.removeEventListener('abort', onAbort);
    }
  }

  /** Stores the end of a command, and tells the model about it if no call reports it. */
  async #finish(
    entry: Entry,
    described: string,
    notes: readonly string[],
    notify: StartContext['notify'],
  ): Promise<void> {
    const { id, session, command, stoppedBy } = entry;
    const end = stoppedBy === 'user' ? stoppedByUser : described;
    entry.end = end;
    entry.notes = notes;
    await this.#forget(
      this.#of(session)
        .filter((one) => one.end !== undefined)
        .slice(0, -maxEnded),
    );
    if (stoppedBy === 'model' || stoppedBy === 'nobody' || entry.waiting > 0) return;
    // The text has the rank of an instruction, so it contains neither the command nor its output.
    const text = `Background command ${id} ${end}. read_output ${id} shows its output.`;
    // Programs show the metadata to the user. The sandbox may have renamed a file that the user created.
    const why = end === stoppedBySandbox && notes.length > 0 ? ` (${notes.join('. ')})` : '';
    const metadata = endMetadata(id, command, `${end}${why.slice(0, maxShownNotes)}`);
    const key = endKey(id);
    // The log can be closed already. The next process then finds out that the command is gone.
    await notify?.({ text, metadata, key }).catch(() => {});
  }

  /** Removes ended commands with their outputs. */
  async #forget(entries: readonly Entry[]): Promise<void> {
    for (const { session, output } of entries) {
      const left = this.#of(session).filter((one) => !entries.includes(one));
      this.#entries.set(session, left);
      await output.close();
    }
  }
}

function view({ id, command, startedAt, end, output }: Entry): BackgroundCommand {
  return { id, command, startedAt, end, lastLine: output.lastLine() };
}

/** Describes a command that this process does not have. The log tells what became of it. */
function describeUnknown(
  id: string,
  { sessionState }: RunningOutputRequest,
  owner: string,
): ToolOutput | undefined {
  const items = sessionState === undefined ? [] : toArray(sessionState().items);
  const known = commandsOf(contentsOf(items)).find((one) => one.id === id);
  if (known === undefined) return undefined;
  const isElsewhere = known.end === undefined && known.owner !== owner && !isLost(known);
  const text = isElsewhere
    ? `${id} runs in a different process, which has its output.`
    : `${id} ${known.end ?? lostEnd}. Its output is gone.`;
  return { output: { text, isError: true } };
}
