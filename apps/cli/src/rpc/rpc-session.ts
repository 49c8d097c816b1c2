import { type RunResult, systemClock } from '@millrace/agent';
import {
  type AgentEvent,
  encodeEvent,
  encodeTranscript,
  type Item,
  itemId,
  type JsonObject,
  type JsonValue,
  liveTranscript,
  type MediaPart,
  randomIds,
  type SessionId,
  type Stop,
} from '@millrace/core';
import { snapshot } from '@millrace/log';
import { modeTexts } from '../agent/session-mode.ts';
import type { PlaceFlags } from '../args/command-hint.ts';
import type { Block } from '../chat/contract/block.ts';
import type { PendingApproval } from '../chat/contract/dialog.ts';
import { Conversation } from '../chat/session/conversation.ts';
import type { OpenedAgent } from '../command/open-agent.ts';
import type { Env } from '../contract/host.ts';
import { readSentPicture } from '../input/attachments/sent-picture.ts';
import { refusalToResume } from '../store/own-session.ts';
import { type ParamsOf, RpcError } from './rpc-protocol.ts';

interface RpcSessionOptions extends OpenedAgent {
  readonly session: SessionId;
  readonly env: Env;
  /** The flags with which `millrace rpc` was started. Error messages repeat them in the commands that they propose. */
  readonly flags: PlaceFlags;
  /** Events up to this offset are not sent. */
  readonly after: number;
  /**
   * Sends a notification. `params` is a text of JSON. The promise resolves when the client has taken the
   * notification.
   */
  readonly notify: (method: string, params: string) => Promise<void>;
}

/** Maximum number of requests of one session that wait for the end of its run. */
const maxWaiting = 64;
const ids = randomIds((bytes) => crypto.getRandomValues(bytes));

/**
 * One session of a client. It follows the log and sends its events. Messages, answers and stops are commands
 * on the log, so the terminal, the page and editors can use the same session at the same time.
 */
export class RpcSession {
  readonly id: SessionId;
  readonly #options: RpcSessionOptions;
  readonly #conversation: Conversation;
  /**
   * The messages on the log, and the messages that this client sent. A message that is sent twice
   * counts once.
   */
  readonly #messages = new Set<string>();
  readonly #waiting: PromiseWithResolvers<JsonObject>[] = [];
  /** The notifications of the current batch. */
  #outbox: (readonly [method: string, params: string])[] = [];
  #sentApprovals = '[]';
  #lastStop: Stop | undefined;
  #lastError: string | undefined;

  constructor(options: RpcSessionOptions) {
    const { log, cwd, built, session, env, flags } = options;
    this.id = session;
    this.#options = options;
    this.#conversation = new Conversation({
      ...{ log, session, cwd, clock: systemClock, built: () => built, home: env['HOME'] },
      takeOutputs: () => [],
      newKey: () => ids.execution(),
      print: (blocks) => this.#report(blocks),
      onChange: () => this.#sendApprovals(),
      putBack: () => {},
      onCallFinished: () => {},
      onRunEnded: (result) => this.#endRun(result),
      onEvent: (event) => this.#handle(event),
      onBatch: () => this.#flush(),
      answeredBy: 'a program, over RPC',
      findRefusal: () => refusalToResume(log, session, { flags, built }),
    });
    built.onNotice((text) => this.#problem(text));
  }

  get cwd(): string {
    return this.#options.cwd;
  }

  /** Reads an existing session and sends its events. Resolves after the earlier events are sent. */
  async open(): Promise<void> {
    await this.#conversation.open();
    await this.#flush();
  }

  /** Returns the data that the client gets about an opened session. */
  async describe(): Promise<JsonObject> {
    const { built, cwd, log, warnings } = this.#options;
    const info = await log.info(this.id);
    return {
      ...{ session: this.id, cwd, model: built.chosen.name ?? null },
      offset: info?.through ?? 0,
      ...(info !== undefined && { incarnation: info.incarnation }),
      mode: built.mode(),
      modes: built.modes.map((id) => ({ id, about: modeTexts[id].about })),
      warnings: [...warnings],
    };
  }

  async send({
    text,
    message,
    when = 'steer',
    pictures = [],
  }: ParamsOf<'session.send'>): Promise<JsonObject> {
    const id = message === undefined ? ids.item() : itemId(message);
    if (text.trim() === '' && pictures.length === 0)
      throw new RpcError('invalidParams', 'session.send: the message is empty');
    const isNew = !this.#messages.has(id);
    if (isNew) {
      const content = { id, pictures: pictures.map(picture) };
      this.#messages.add(id);
      const send = when === 'steer' ? this.#conversation.send : this.#conversation.queue;
      await send.call(this.#conversation, text, content).catch((error: unknown) => {
        this.#messages.delete(id);
        throw error;
      });
    }
    return { message: id, isNew };
  }

  /** Returns how the last run ended, and its answer. Waits for the end of a run in progress. */
  async wait(): Promise<JsonObject> {
    if (!this.#conversation.isBusy) return this.#outcome();
    if (this.#waiting.length >= maxWaiting)
      throw new RpcError('invalidRequest', `at most ${maxWaiting} requests can wait`);
    const waiting = Promise.withResolvers<JsonObject>();
    this.#waiting.push(waiting);
    return waiting.promise;
  }

  /** Returns the transcript: whole messages without deltas. */
  async read(): Promise<JsonObject> {
    const { log } = this.#options;
    if ((await log.info(this.id)) === undefined) return { offset: 0, isRunning: false, items: [] };
    const state = await snapshot(log, this.id);
    const { items } = JSON.parse(encodeTranscript(liveTranscript(state))) as {
      readonly items: JsonValue;
    };
    return { offset: state.through, isRunning: state.run !== undefined, items };
  }

  async approve({ call, asker, input, until }: ParamsOf<'session.approve'>): Promise<JsonObject> {
    const approval = this.#approval(call, asker);
    await this.#conversation.approve(approval, { input, forSession: until === 'session' });
    return {};
  }

  async deny({ call, asker, reason }: ParamsOf<'session.deny'>): Promise<JsonObject> {
    await this.#conversation.deny(this.#approval(call, asker), reason);
    return {};
  }

  setMode(id: string): JsonObject {
    const { built } = this.#options;
    const mode = built.modes.find((one) => one === id);
    if (mode === undefined)
      throw new RpcError(
        'invalidParams',
        `There is no mode ${id}. Modes: ${built.modes.join(', ')}`,
      );
    built.setMode(mode);
    return { mode };
  }

  /**
   * Continues the work that another process left, and the calls that a user approved after that.
   */
  async continue(): Promise<JsonObject> {
    await this.#conversation.assertDriver();
    await this.#conversation.resumeInterrupted();
    return { isRunning: this.#conversation.isBusy };
  }

  async stop(): Promise<JsonObject> {
    await this.#conversation.stop();
    return {};
  }

  /** Stops the run of this process, and stops following the session. */
  async close(): Promise<JsonObject> {
    await this.#conversation.close();
    await this.#flush();
    this.#endWaiting({ reason: 'aborted', cause: 'closed' });
    await this.#options.built.close();
    return {};
  }

  /** Finds an approval that waits. A sub-agent has a session of its own, which is `asker`. */
  #approval(call: string, asker: string = this.id): PendingApproval {
    const found = this.#conversation.approvals.find(
      ({ id, session }) => id === call && session === asker,
    );
    if (found !== undefined) return found;
    throw new RpcError(
      'invalidParams',
      'No approval waits for this call. It may be answered already',
      {
        ...{ session: this.id, call },
      },
    );
  }

  #handle(event: AgentEvent): void {
    const { type } = event;
    if (type === 'item_started' && event.kind === 'user') this.#messages.add(event.itemId);
    if (type === 'error_reported') this.#lastError = event.error.message;
    if (type === 'run_started') this.#lastError = undefined;
    if (event.offset > this.#options.after)
      this.#outbox.push([
        'event',
        `{"session":${JSON.stringify(this.id)},"event":${encodeEvent(event)}}`,
      ]);
    if (type === 'run_finished') this.#finish(event.stop);
  }

  #finish(stop: Stop): void {
    this.#lastStop = stop;
    // The log gets the end of the run first. The run in this process ends a moment later.
    const settled = this.#conversation.settled();
    const end = () => {
      if (!this.#conversation.isBusy) this.#endWaiting(stop);
    };
    void settled.then(end, end);
  }

  /** Ends waiting requests if the log could not record the end of the run. */
  #endRun({ stop, cause }: RunResult): void {
    if (stop.reason !== 'error' || this.#conversation.isBusy) return;
    this.#lastStop = stop;
    this.#lastError ??= cause instanceof Error ? cause.message : undefined;
    this.#endWaiting(stop);
  }

  #endWaiting(stop: Stop): void {
    const waiting = this.#waiting.splice(0);
    if (waiting.length === 0) return;
    const answer = this.#outcome(stop);
    for (const { resolve } of waiting) resolve(answer);
  }

  async #outcome(stop = this.#lastStop): Promise<JsonObject> {
    if (stop === undefined)
      throw new RpcError('invalidRequest', 'The session has no run yet. Send a message first', {
        session: this.id,
      });
    const { log } = this.#options;
    const isThere = (await log.info(this.id)) !== undefined;
    const items = isThere ? liveTranscript(await snapshot(log, this.id)) : [];
    const { reason, cause } = stop;
    return {
      stop: { reason, ...(cause !== undefined && { cause }) },
      answer: answerOf(items),
      ...(reason === 'error' && this.#lastError !== undefined && { error: this.#lastError }),
    };
  }

  /** Sends the approvals that wait, if they have changed. */
  #sendApprovals(): void {
    const waiting = JSON.stringify(this.#conversation.approvals.map(wireApproval));
    if (waiting === this.#sentApprovals) return;
    this.#sentApprovals = waiting;
    this.#outbox.push(['approvals', `{"session":${JSON.stringify(this.id)},"waiting":${waiting}}`]);
    void this.#flush();
  }

  #report(blocks: readonly Block[]): void {
    for (const block of blocks)
      if (block.type === 'note' && block.tone === 'bad') this.#problem(block.text);
  }

  #problem(message: string): void {
    this.#outbox.push(['problem', JSON.stringify({ session: this.id, message })]);
    void this.#flush();
  }

  /** Sends all waiting notifications in order. The log is not read further until they are taken. */
  async #flush(): Promise<void> {
    const { notify } = this.#options;
    const work = this.#outbox;
    this.#outbox = [];
    this.#sending = this.#sending.then(async () => {
      for (const [method, params] of work) await notify(method, params);
    });
    await this.#sending;
  }

  #sending: Promise<void> = Promise.resolve();
}

function wireApproval({ session, id, name, input, reason, rule, agents, form }: PendingApproval) {
  return { call: id, asker: session, name, input, reason, rule, agents, form };
}

/** Returns the text of the last message of the model. */
function answerOf(items: readonly Item[]): string {
  const last = items.findLast(({ kind }) => kind === 'assistant');
  return (last?.parts ?? []).flatMap((part) => (part.kind === 'text' ? part.text : [])).join('');
}

function picture(base64: string): MediaPart {
  const read = readSentPicture(base64);
  if ('problem' in read) throw new RpcError('invalidParams', `session.send: ${read.problem}`);
  return read.picture;
}
