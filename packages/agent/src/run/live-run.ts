import type {
  AgentEvent,
  DraftRecord,
  FoldState,
  Item,
  LogRecord,
  RunId,
  SessionId,
  ToolCallId,
} from '@millrace/core';
import type { Driver } from '@millrace/log';
import { AgentError } from '../errors/agent-error.ts';
import { Journal } from '../journal/journal.ts';
import { type Command, type QueuedCommand, toJson } from '../loop/command.ts';
import { Observers } from '../observers/observers.ts';
import { inputItems } from './input-items.ts';
import { itemDrafts } from './item-drafts.ts';
import { listen } from './listen.ts';
import { interrupted, recover } from './recover.ts';
import type { ApproveOptions, DenyOptions, Run, RunInput, RunResult } from './run.ts';
import { RunDriver } from './run-driver.ts';
import { runEvents } from './run-events.ts';
import { failedResult, resultOf } from './run-result.ts';
import type { Settings } from './settings.ts';

export interface RunOptions {
  readonly session: SessionId;
  readonly input: RunInput | undefined;
  readonly signal: AbortSignal | undefined;
}

/** A run from its first record to its last. */
export class LiveRun implements Run {
  readonly session: SessionId;
  readonly id: RunId;
  readonly result: Promise<RunResult>;
  readonly #settings: Settings;
  readonly #options: RunOptions;
  /** Aborts when the run is to stop. */
  readonly #stop = new AbortController();
  readonly #begun: PromiseWithResolvers<FoldState> = Promise.withResolvers();
  /** Aborts when nothing more comes. */
  readonly #over = new AbortController();
  #through = 0;

  constructor(settings: Settings, options: RunOptions) {
    this.#settings = settings;
    this.#options = options;
    this.session = options.session;
    this.id = settings.ids.run();
    this.#begun.promise.catch(() => {});
    this.result = this.#run();
  }

  get events(): AsyncIterable<AgentEvent> {
    const { log } = this.#settings;
    const through = () => this.#through;
    const source = { log, begun: this.#begun.promise, over: this.#over.signal, through };
    return { [Symbol.asyncIterator]: () => runEvents(source) };
  }

  async abort(reason?: string): Promise<void> {
    // What is over needs no stopping.
    if (!this.#over.signal.aborted) await this.#submit({ type: 'abort', reason });
  }

  steer(input: RunInput): Promise<void> {
    const items = inputItems(input, this.#settings.ids);
    return this.#submit({ type: 'message', when: 'steer', items });
  }

  followUp(input: RunInput): Promise<void> {
    const items = inputItems(input, this.#settings.ids);
    return this.#submit({ type: 'message', when: 'follow_up', items });
  }

  approve(toolCallId: ToolCallId, { input, by }: ApproveOptions = {}): Promise<void> {
    return this.#submit({ type: 'approve', toolCallId, input, by });
  }

  deny(toolCallId: ToolCallId, { reason, by }: DenyOptions = {}): Promise<void> {
    return this.#submit({ type: 'deny', toolCallId, reason, by });
  }

  /** As anybody could from anywhere: the run hears of it by the log. */
  async #submit(command: Command): Promise<void> {
    await this.#begun.promise;
    if (this.#over.signal.aborted) throw runOver(this.session, this.id);
    const { log, ids } = this.#settings;
    await log.submit(this.session, toJson(command), ids.execution());
    // Here one need not wait until somebody listens.
    this.#fetch();
  }

  async #run(): Promise<RunResult> {
    const { log, name } = this.#settings;
    let driver: Driver | undefined;
    try {
      driver = await log.open(this.session, { holder: name });
      return await this.#drive(driver);
    } catch (error) {
      this.#begun.reject(error);
      return failedResult(this.session, error);
    } finally {
      this.#over.abort();
      await driver?.release().catch(() => {});
    }
  }

  async #drive(driver: Driver): Promise<RunResult> {
    const settings = this.#settings;
    const journal = this.#journalOf(driver);
    await journal.open();
    const before = journal.state;
    this.#through = before.through;
    const { session } = this;
    const context = { settings, journal, session, before, signal: this.#stop.signal };
    const loop = new RunDriver(context, () => this.#stop.abort());
    this.#hear = (record) => loop.hear(record);
    this.#fetch = () => void journal.write([]).catch(() => {});
    this.#begun.resolve(before);
    const leave = this.#heedSignal();
    const listening = this.#listen(journal);
    try {
      const given = await this.#begin(journal, loop);
      const stop = await loop.drive();
      return resultOf(before, journal.state, stop, given);
    } finally {
      leave();
      this.#fetch = () => {};
      this.#over.abort();
      await listening;
    }
  }

  #hear: (record: LogRecord) => void = () => {};
  #fetch: () => void = () => {};

  #journalOf(driver: Driver): Journal {
    const { observers, onDiagnostic, clock } = this.#settings;
    const watching = new Observers(observers, { clock, onDiagnostic });
    const observe =
      observers.length === 0
        ? undefined
        : (...told: Parameters<Observers['tell']>) => watching.tell(...told);
    const onRecord = (record: LogRecord) => {
      this.#through = record.offset;
      this.#hear(record);
    };
    return new Journal({ driver, observe, onRecord });
  }

  /**
   * Mends what a driver that died left, and says what this run is about. A run that was cut short goes
   * on, unless it was in the middle of an answer that is kept as it is: then that was its end.
   */
  async #begin(journal: Journal, loop: RunDriver): Promise<readonly Item[]> {
    const { onInterrupted, ids } = this.#settings;
    const { input } = this.#options;
    const mended = recover(journal.state, journal.loop, onInterrupted);
    if (mended.length > 0) await journal.write(mended);
    const given = input === undefined ? [] : inputItems(input, ids);
    const isKept = journal.loop.turn?.stop?.cause === interrupted.cause;
    const isAwaited = given.length > 0 || journal.loop.commands.length > 0;
    if (isKept && isAwaited) await loop.drive();
    const started = { type: 'run_started', runId: this.id } as const;
    const isNew = journal.loop.run === undefined;
    const stale = journal.loop.commands.filter(({ command }) => command.type === 'abort');
    const opening = isNew ? [{ turn: 0, attempt: 0, fact: started } as const] : [];
    await journal.write([...opening, ...stale.map(consumed), ...itemDrafts(given, ids)]);
    return given;
  }

  #heedSignal(): () => void {
    const { signal } = this.#options;
    const onAbort = () => {
      const { reason } = signal ?? {};
      this.abort(reason instanceof Error ? reason.message : String(reason)).catch(() => {});
    };
    if (signal?.aborted) onAbort();
    signal?.addEventListener('abort', onAbort);
    return () => signal?.removeEventListener('abort', onAbort);
  }

  /** Where the log fails, the next write says so. */
  #listen(journal: Journal): Promise<void> {
    const { log, clock } = this.#settings;
    const { session } = this;
    return listen({ log, session, journal, clock, over: this.#over.signal }).catch(() => {});
  }
}

/** Meant a run that was over before it was heard. */
function consumed({ key }: QueuedCommand): DraftRecord {
  return { turn: 0, attempt: 0, fact: { type: 'command_consumed', key } };
}

function runOver(session: SessionId, runId: RunId): AgentError {
  const message = `Cannot say anything to run ${runId} of session ${session}: it is over. Run again, or resume`;
  return new AgentError('run_over', message, { session, runId });
}
