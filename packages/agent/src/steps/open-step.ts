import type { LogRecord, SessionId } from '@millrace/core';
import type { Driver, Log } from '@millrace/log';
import type { Agent } from '../contract/agent.ts';
import type { RunContext } from '../contract/run-context.ts';
import type { Settings } from '../contract/settings.ts';
import { Observers } from '../observers/observers.ts';
import { activeSettings, createRegistry, settingsOf } from '../run/agent-registry.ts';
import { receiveForeignRecords, SessionJournal } from '../run/journal.ts';
import { UniqueCallIds } from '../run/provider-deltas.ts';
import { notUnderstood } from '../run/run-errors.ts';
import { type CachedFold, cacheFold, RunTracker, readCachedFold } from './fold-cache.ts';
import { ProducerWriter } from './producer-writer.ts';

/** How a step is stopped from outside of the log. */
export interface StepSignals {
  /** It is to stop as by an abort: what was said so far is kept. */
  readonly signal?: AbortSignal | undefined;
  /** It is to stop at once and to write nothing more: somebody else does it again. */
  readonly leave?: AbortSignal | undefined;
}

export interface OpenStepOptions extends StepSignals {
  readonly agent: Agent;
  readonly session: SessionId;
  /** Opens the session; its first batch has what follows this offset. */
  readonly open: (log: Log, from: number) => Promise<Driver>;
  /** It writes as a producer that it will be admitted as. */
  readonly produces?: boolean | undefined;
}

/** A session, opened and folded for one step of a run. */
export class OpenStep {
  readonly settings: Settings;
  readonly driver: Driver;
  readonly journal: SessionJournal;
  readonly writer: ProducerWriter;
  readonly runs: RunTracker;
  readonly #stop = new AbortController();
  readonly #over = new AbortController();
  #listening: Promise<void> = Promise.resolve();
  #context: RunContext | undefined;
  /** Hears of each record that is committed while the step goes on. */
  onRecord: (record: LogRecord) => void = () => {};

  private constructor(options: OpenStepOptions, driver: Driver, fold: CachedFold) {
    const settings = settingsOf(options.agent);
    this.settings = settings;
    this.driver = driver;
    this.runs = new RunTracker(fold);
    this.writer = new ProducerWriter(settings.log, driver, fold.state.through);
    this.journal = this.#journalOf(options.produces ? this.writer : driver, fold);
  }

  static async open(options: OpenStepOptions): Promise<OpenStep> {
    const { log } = settingsOf(options.agent);
    const fold = await readCachedFold(log, options.session);
    const driver = await options.open(log, fold.state.through);
    const step = new OpenStep(options, driver, fold);
    try {
      await step.#begin(options);
      return step;
    } catch (error) {
      await step.close();
      throw error;
    }
  }

  /** Once the session is folded. */
  get context(): RunContext {
    this.#context ??= this.#contextOf();
    return this.#context;
  }

  /** As if somebody had aborted the run. */
  abort(): void {
    this.context.phase.isAborting = true;
    this.#stop.abort();
  }

  /** Nothing more can be written, and so nothing more is worth doing. */
  fail(error: unknown): void {
    this.journal.fail(error);
    this.#stop.abort();
  }

  /** The session is let go of: its lease stays, unless the step gives it back. */
  async close(gives: 'keeps' | 'releases' = 'keeps'): Promise<void> {
    this.#over.abort();
    await this.#listening;
    const { log } = this.settings;
    const { before, ended } = this.runs;
    const { state, loop } = this.journal;
    if (this.journal.failure === undefined)
      await cacheFold(log, state.session, { state, loop, before, ended });
    if (gives === 'releases') await this.driver.release();
    else this.driver.leave();
  }

  async #begin({ session, signal, leave }: OpenStepOptions): Promise<void> {
    const { journal, driver } = this;
    await journal.open();
    const { state, loop } = journal;
    if (state.notUnderstood.length > 0) throw notUnderstood(session, state.notUnderstood);
    if (loop.run?.aborted !== undefined) this.abort();
    const fail = (error: unknown) => this.fail(error);
    driver.lost.then(fail).catch(() => {});
    const over = { signal: this.#over.signal };
    leave?.addEventListener('abort', () => fail(leave.reason), over);
    if (leave?.aborted) fail(leave.reason);
    signal?.addEventListener('abort', () => this.abort(), over);
    if (signal?.aborted) this.abort();
    const { log, clock } = this.settings;
    this.#listening = receiveForeignRecords({
      log,
      session,
      journal,
      clock,
      ended: over.signal,
    }).catch(() => {});
  }

  #journalOf(writer: Pick<Driver, 'session' | 'append'>, fold: CachedFold): SessionJournal {
    const { observers, onDiagnostic, clock } = this.settings;
    const watching = new Observers(observers, { clock, onDiagnostic });
    const onRecord = (record: LogRecord) => {
      const { phase } = this.context;
      if (record.fact?.type === 'aborted' && !phase.isAborting) this.abort();
      this.onRecord(record);
    };
    const observe =
      observers.length === 0
        ? undefined
        : (...told: Parameters<Observers['notify']>) => {
            if (this.#isOwn(told[0])) watching.notify(...told);
          };
    const { onStep } = this.runs;
    const { name: agent } = this.settings;
    return new SessionJournal({ driver: writer, from: fold, observe, onRecord, onStep, agent });
  }

  /** Steps that run side by side hear the same records: each is told of by the one that wrote it. */
  #isOwn({ producer }: LogRecord): boolean {
    const { name } = this.writer;
    return name === undefined ? !producerForm.test(producer) : producer === name;
  }

  #contextOf(): RunContext {
    const { journal, settings: root, runs } = this;
    const roster = createRegistry(root);
    const phase = { isAborting: false, isTurnEnding: false, isRunEnding: false };
    // What waits for a person does not wait in a process.
    const parking = new Map<Settings, Settings>();
    const settingsFor = (settings: Settings): Settings => {
      const known = parking.get(settings) ?? { ...settings, whileAsking: 'park' };
      parking.set(settings, known);
      return known;
    };
    return {
      ...{ journal, phase, session: journal.state.session, signal: this.#stop.signal },
      callIds: new UniqueCallIds(root.ids, journal.state),
      get initialState() {
        return runs.before;
      },
      get settings() {
        return settingsFor(activeSettings(roster, root, journal.loop.agent));
      },
    };
  }
}

/** As the log names those who were admitted for a request or a call. */
const producerForm = /^(request|call) /;
