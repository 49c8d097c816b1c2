import type { LogRecord, SessionId } from '@millrace/core';
import type { Driver, Log } from '@millrace/log';
import { abort } from '../abortable.ts';
import { registryWithHandOffs } from '../calls/hand-offs.ts';
import { StepToolbox } from '../context/step-toolbox.ts';
import type { Agent } from '../contract/agent.ts';
import type { RunContext } from '../contract/run-context.ts';
import type { Settings } from '../contract/settings.ts';
import { Observers } from '../observers/observers.ts';
import { activeSettings, settingsOf, settingsWhileAsking } from '../run/agent-registry.ts';
import { UniqueCallIds } from '../run/provider-deltas.ts';
import { notUnderstood } from '../run/run-errors.ts';
import { receiveForeignRecords, SessionJournal } from '../session/journal.ts';
import { type HeldSession, openHeldSession } from './claim.ts';
import { type CachedFold, cacheFold, RunTracker, readCachedFold } from './fold-cache.ts';
import { ProducerWriter } from './producer-writer.ts';

/** The context of a step, and the signals that stop the step. */
export interface StepSignals {
  /** The value that tools and functions of the agent get, as in `agent.run`. The log does not store it. */
  readonly context?: unknown;
  /** Stops the step in the same way as an abort. The partial answer is kept. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Stops the step immediately without further writes. Use it if a different process will repeat the step.
   */
  readonly leave?: AbortSignal | undefined;
}

export interface OpenStepOptions extends StepSignals {
  readonly agent: Agent;
  readonly session: SessionId;
  /** Opens the session. The driver's first batch starts after the offset `from`. */
  readonly open: (log: Log, from: number) => Promise<Driver>;
  /** True if the step writes as a producer that the driver has admitted. */
  readonly produces?: boolean | undefined;
}

/** An open session with its state, for one step of a run. */
export class OpenStep {
  readonly settings: Settings;
  readonly driver: Driver;
  readonly journal: SessionJournal;
  readonly writer: ProducerWriter;
  readonly runs: RunTracker;
  readonly #given: unknown;
  readonly #stop = new AbortController();
  readonly #ended = new AbortController();
  /** Aborts when the step can no longer write, because a different process repeats it. */
  readonly #leaving = new AbortController();
  #listening: Promise<void> = Promise.resolve();
  #context: RunContext | undefined;
  /** Called after each record is committed during the step. */
  onRecord: (record: LogRecord) => void = () => {};

  private constructor(options: OpenStepOptions, driver: Driver, fold: CachedFold) {
    const settings = settingsOf(options.agent);
    this.settings = settings;
    this.#given = options.context;
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

  /** Opens a step that writes as a producer, with the lease that `advance` took. */
  static openProducer(agent: Agent, options: HeldSession & StepSignals): Promise<OpenStep> {
    const { session, signal, leave, context } = options;
    const open = openHeldSession(options);
    return OpenStep.open({ ...{ agent, session, signal, leave, context, open }, produces: true });
  }

  /** The run context. It exists only after the state of the session was computed. */
  get context(): RunContext {
    this.#context ??= this.#contextOf();
    return this.#context;
  }

  /** Stops the step in the same way as an abort of the run. */
  abort(): void {
    this.context.phase.isAborting = true;
    abort(this.#stop);
  }

  /** Stops the step because it can no longer write. */
  fail(error: unknown): void {
    this.journal.fail(error);
    // `#leaving` aborts first. Sub-agents then keep their sessions open for the next process and do not abort
    // them.
    abort(this.#leaving);
    abort(this.#stop);
  }

  /**
   * Closes the session. `gives` decides whether the owner keeps or releases the lease. Default: the owner
   * keeps it.
   */
  async close(gives: 'keeps' | 'releases' = 'keeps'): Promise<void> {
    abort(this.#ended);
    await this.#listening;
    const { log } = this.settings;
    const { before, ended } = this.runs;
    const { state, loop } = this.journal;
    if (this.journal.failure === undefined)
      await cacheFold(log, state.session, { state, loop, before, ended });
    if (gives === 'releases') await this.driver.release();
    else this.driver.detach();
  }

  async #begin({ session, signal, leave }: OpenStepOptions): Promise<void> {
    const { journal, driver } = this;
    await journal.open();
    const { state, loop } = journal;
    if (state.notUnderstood.length > 0) throw notUnderstood(session, state.notUnderstood);
    if (loop.run?.aborted !== undefined) this.abort();
    const fail = (error: unknown) => this.fail(error);
    driver.lost.then(fail).catch(() => {});
    const ended = { signal: this.#ended.signal };
    leave?.addEventListener('abort', () => fail(leave.reason), ended);
    if (leave?.aborted) fail(leave.reason);
    signal?.addEventListener('abort', () => this.abort(), ended);
    if (signal?.aborted) this.abort();
    const { log, clock } = this.settings;
    this.#listening = receiveForeignRecords({
      log,
      session,
      journal,
      clock,
      ended: ended.signal,
    }).catch(() => {});
  }

  #journalOf(writer: Pick<Driver, 'session' | 'append'>, fold: CachedFold): SessionJournal {
    const { observers, onDiagnostic, clock } = this.settings;
    const notifier = new Observers(observers, { clock, onDiagnostic });
    const onRecord = (record: LogRecord) => {
      const { phase } = this.context;
      if (record.fact?.type === 'aborted' && !phase.isAborting) this.abort();
      this.onRecord(record);
    };
    const observe =
      observers.length === 0
        ? undefined
        : (...notification: Parameters<Observers['notify']>) => {
            if (this.#isOwn(notification[0])) notifier.notify(...notification);
          };
    const { onStep } = this.runs;
    const { name: agent } = this.settings;
    return new SessionJournal({ driver: writer, from: fold, observe, onRecord, onStep, agent });
  }

  /**
   * Returns true if this step wrote the record. Concurrent steps receive the same records, but only the step
   * that wrote a record reports it to observers.
   */
  #isOwn({ producer }: LogRecord): boolean {
    const { name } = this.writer;
    return name === undefined ? !producerForm.test(producer) : producer === name;
  }

  #contextOf(): RunContext {
    const { journal, settings: root, runs } = this;
    const registry = registryWithHandOffs(root);
    const phase = { isAborting: false, isTurnEnding: false, isRunEnding: false };
    // Steps never wait for an approval. They park the run instead.
    const settingsFor = settingsWhileAsking('park');
    const toolbox = new StepToolbox();
    const active = () => settingsFor(activeSettings(registry, root, journal.loop.agent));
    const source = { journal, context: this.#given, session: journal.state.session };
    return {
      ...{ journal, phase, session: journal.state.session, signal: this.#stop.signal },
      ...{ leave: this.#leaving.signal, context: this.#given },
      callIds: new UniqueCallIds(root.ids, journal.state),
      get initialState() {
        return runs.before;
      },
      loadStepTools: (turn) => toolbox.load(active(), turn, source),
      get settings() {
        return toolbox.apply(active(), journal.loop.turn?.turn);
      },
    };
  }
}

/** Matches the producer names that the log uses for admitted requests and calls. */
const producerForm = /^(request|call) /;
