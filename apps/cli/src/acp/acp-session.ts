import { setTimeout as sleep } from 'node:timers/promises';
import {
  type AgentContext,
  type AvailableCommand,
  type ClientCapabilities,
  type ContentBlock,
  methods,
  type PromptResponse,
  RequestError,
  type SessionModeState,
  type SessionUpdate,
} from '@agentclientprotocol/sdk';
import { AgentError, type RunResult, systemClock } from '@millrace/agent';
import {
  type AgentEvent,
  type ItemId,
  liveTranscript,
  randomIds,
  type SessionId,
  type Stop,
  type ToolCallId,
} from '@millrace/core';
import { LogError, snapshot } from '@millrace/log';
import { modeTexts } from '../agent/session-mode.ts';
import type { PlaceFlags } from '../args/command-hint.ts';
import type { Block } from '../chat/contract/block.ts';
import type { PendingApproval } from '../chat/contract/dialog.ts';
import { Conversation } from '../chat/session/conversation.ts';
import { callEntry } from '../chat/state/entries.ts';
import type { OpenedAgent } from '../command/open-agent.ts';
import { isListed, slashPrompts } from '../extensions/slash-prompts.ts';
import { refusalToResume } from '../store/own-session.ts';
import { maxDiffs, recordedDiff, shortTitle } from './call-view.ts';
import { EditorQuestions } from './editor-questions.ts';
import { PermissionRequests } from './permission-requests.ts';
import { readPrompt } from './prompt-content.ts';
import { SessionUpdates } from './session-updates.ts';

interface AcpSessionOptions extends OpenedAgent {
  readonly session: SessionId;
  readonly client: AgentContext;
  readonly capabilities: ClientCapabilities;
  /** The flags with which `millrace acp` was started. Error messages repeat them in the commands that they propose. */
  readonly flags: PlaceFlags;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Reports a problem that no request can return. */
  readonly onProblem: (problem: string) => void;
}

/** A prompt that waits for the end of its run. */
interface OpenPrompt {
  /** True after the message is on the log. The next run that ends has answered it. */
  isRecorded: boolean;
  readonly end: PromiseWithResolvers<PromptResponse>;
}

/** Maximum number of prompts of one session that wait at the same time. */
const maxPrompts = 16;
/** Maximum time for which a prompt waits for MCP servers that are connecting, in milliseconds. */
const serverWaitMs = 10_000;
/** The slash command that summarises older messages, as `/compact` in the terminal. */
const compactCommand = 'compact';
const ids = randomIds((bytes) => crypto.getRandomValues(bytes));

/**
 * One session of an editor. It follows the log and sends its events as updates, and it writes prompts,
 * answers and stops as commands to the log. So other processes see the same session.
 */
export class AcpSession {
  readonly id: SessionId;
  readonly #options: AcpSessionOptions;
  readonly #conversation: Conversation;
  readonly #updates: SessionUpdates;
  readonly #permissions: PermissionRequests;
  readonly #questions: EditorQuestions;
  /** The prompts that wait for the end of their run, by the id of their message. */
  readonly #prompts = new Map<ItemId, OpenPrompt>();
  /** The messages of this editor. The editor shows them already. */
  readonly #own = new Set<ItemId>();
  /** The work that sends updates, in order. */
  #outbox: (() => Promise<void>)[] = [];
  /** New output of running calls in this batch. */
  readonly #outputs = new Map<ToolCallId, string>();
  /** The number of sent diffs of each open call. */
  readonly #diffs = new Map<ToolCallId, number>();
  /** Events up to this offset were sent by `load`. */
  #sentThrough = 0;
  #lastError: string | undefined;
  #isCancelled = false;

  constructor(options: AcpSessionOptions) {
    const { log, cwd, built, session, env, flags, capabilities } = options;
    this.id = session;
    this.#options = options;
    const conversation = () => this.#conversation;
    const onProblem = (error: unknown) => options.onProblem(messageOf(error));
    const request: ConstructorParameters<typeof PermissionRequests>[0]['request'] = (
      given,
      cancellationSignal,
    ) =>
      this.#flushed(() =>
        options.client.request(
          methods.client.session.requestPermission,
          { ...given, sessionId: session },
          { cancellationSignal, stopWaitingOnCancel: true },
        ),
      );
    this.#permissions = new PermissionRequests({
      ...{ built: () => built, conversation, cwd, request, onProblem },
      onAsked: (approval) => this.#showForeign(approval),
      onAnswered: (approval, isAllowed) => this.#closeForeign(approval, isAllowed),
    });
    this.#questions = new EditorQuestions({
      ...{ conversation, request, onProblem },
      elicit: capabilities.elicitation?.form
        ? (form, cancellationSignal) =>
            options.client.request(
              methods.client.elicitation.create,
              { ...form, mode: 'form', sessionId: session },
              { cancellationSignal, stopWaitingOnCancel: true },
            )
        : undefined,
    });
    this.#updates = new SessionUpdates({
      cwd,
      hasTerminals: capabilities._meta?.['terminal_output'] === true,
      isOwn: (itemId) => this.#own.has(itemId),
    });
    this.#conversation = new Conversation({
      ...{ log, session, cwd, clock: systemClock, built: () => built, home: env['HOME'] },
      takeOutputs: () => [],
      newKey: () => ids.execution(),
      print: (blocks) => this.#print(blocks),
      onChange: () => this.#askUser(),
      putBack: () => {},
      onCallFinished: () => {},
      onRunEnded: (result) => this.#failPrompts(result),
      onEvent: (event) => this.#handle(event),
      onBatch: () => this.#flush(),
      answeredBy: 'you, in the editor',
      // An editor can stop only the work of a prompt.
      takesOver: () => this.isBusy,
      // The end of a background command starts no run. The next prompt contains the message about it.
      wakes: false,
      findRefusal: () => refusalToResume(log, session, { flags, built }),
    });
    built.setQuestionHandler(this.#questions.ask);
    built.onNotice((text) => this.#notice('info', text));
  }

  get cwd(): string {
    return this.#options.cwd;
  }

  /** The modes that the editor offers, and the current mode. */
  get modes(): SessionModeState {
    const { built } = this.#options;
    const availableModes = built.modes.map((id) => {
      const { label, about } = modeTexts[id];
      return { id, name: label, description: about };
    });
    return { currentModeId: built.mode(), availableModes };
  }

  /** Changes the mode. It applies to the next call. Returns false if there is no such mode. */
  setMode(id: string): boolean {
    const { built } = this.#options;
    const mode = built.modes.find((one) => one === id);
    if (mode !== undefined) built.setMode(mode);
    return mode !== undefined;
  }

  /**
   * Reads the session, so that later events are sent. With `replays`, all earlier messages are sent first.
   */
  async open({ replays }: { readonly replays: boolean }): Promise<void> {
    const { log } = this.#options;
    const state = await snapshot(log, this.id);
    this.#sentThrough = state.through;
    if (replays)
      for (const update of this.#updates.load(liveTranscript(state), state.run !== undefined))
        await this.#send(update);
    await this.#conversation.open();
    for (const update of this.#updates.plan(this.#conversation.state)) await this.#send(update);
  }

  /** Sends the data that an editor shows beside the messages. Call it after the response. */
  async announce(): Promise<void> {
    await this.#send({
      sessionUpdate: 'available_commands_update',
      availableCommands: this.#commands,
    });
    for (const warning of this.#options.warnings) await this.#notice('warning', warning);
    const { servers } = this.#options.built;
    servers.ready
      .then(() => {
        for (const problem of servers.problems()) void this.#notice('warning', problem);
      })
      .catch(() => {});
  }

  get #commands(): AvailableCommand[] {
    const all = slashPrompts(this.#options.built.extensions);
    const prompts = all.filter(isListed).map(
      ({ name, description, argument }): AvailableCommand => ({
        ...{ name: name.slice(1), description },
        ...(argument !== undefined && { input: { hint: argument } }),
      }),
    );
    const description = 'Summarise older messages, so that the context has room';
    return [{ name: compactCommand, description }, ...prompts];
  }

  /** Sends a prompt. Resolves when the run has ended and all its updates are sent. */
  async prompt(blocks: readonly ContentBlock[]): Promise<PromptResponse> {
    if (this.#prompts.size >= maxPrompts)
      throw RequestError.invalidRequest(undefined, `at most ${maxPrompts} prompts can wait`);
    const { text, texts, pictures } = readPrompt(blocks, this.cwd);
    const id = ids.item();
    const prompt: OpenPrompt = { isRecorded: false, end: Promise.withResolvers() };
    // The error is returned by the await below. This handler prevents an unhandled rejection.
    prompt.end.promise.catch(() => {});
    this.#prompts.set(id, prompt);
    this.#own.add(id);
    this.#isCancelled = false;
    try {
      await this.#waitForServers();
      if (text === `/${compactCommand}`) {
        prompt.isRecorded = true;
        await this.#conversation.compact();
      } else await this.#conversation.send(text, { id, texts, pictures });
      if (this.#isCancelled) await this.#conversation.stop();
      // A question of an earlier run may still be open.
      this.#askUser();
      return await prompt.end.promise;
    } finally {
      this.#prompts.delete(id);
    }
  }

  /** Waits for MCP servers that connect, so that the first request offers their tools. */
  async #waitForServers(): Promise<void> {
    const { servers } = this.#options.built;
    if (servers.connecting().length === 0) return;
    const timer = new AbortController();
    const late = sleep(serverWaitMs, undefined, { signal: timer.signal }).catch(() => {});
    await Promise.race([servers.ready, late]);
    timer.abort();
  }

  /** Stops the run. The prompt then ends with the reason `cancelled`. */
  async cancel(): Promise<void> {
    this.#isCancelled = true;
    await this.#conversation.stop();
  }

  get isBusy(): boolean {
    return this.#prompts.size > 0;
  }

  /** Stops the run of this process, and stops following the session. */
  async close(): Promise<void> {
    await this.#conversation.close();
    this.#options.built.setQuestionHandler(undefined);
    this.#permissions.update([]);
    this.#questions.update([]);
    await this.#flush();
    for (const { end } of this.#prompts.values()) end.resolve({ stopReason: 'cancelled' });
    await this.#options.built.close();
  }

  /** Asks the user about approvals. An editor shows questions only while a prompt waits. */
  #askUser(): void {
    const approvals = this.isBusy ? this.#conversation.approvals : [];
    this.#permissions.update(approvals);
    this.#questions.update(approvals);
  }

  #handle(event: AgentEvent): void {
    // `load` sent the earlier events as whole messages.
    if (event.offset <= this.#sentThrough) return;
    const { state } = this.#conversation;
    if (event.type === 'item_started') this.#markRecorded(event.itemId);
    if (event.type === 'error_reported') this.#lastError = event.error.message;
    if (event.type === 'tool_execution_update')
      this.#outputs.set(event.toolCallId, (this.#outputs.get(event.toolCallId) ?? '') + event.text);
    else this.#sendOutputs();
    for (const update of this.#updates.of(event, state))
      this.#outbox.push(() => this.#send(update));
    if (event.type === 'file_changed' && event.scope === undefined) this.#sendDiff(event);
    if (event.type === 'turn_finished') this.#sendUsage();
    if (event.type === 'run_finished') this.#endPrompts(event.stop);
  }

  #markRecorded(itemId: ItemId): void {
    const prompt = this.#prompts.get(itemId);
    if (prompt !== undefined) prompt.isRecorded = true;
  }

  /** Sends the new output of calls. Output that arrives in one batch becomes one update. */
  #sendOutputs(): void {
    for (const [id, added] of this.#outputs) {
      const tail = callEntry(this.#conversation.state, id)?.card.output.text ?? added;
      for (const update of this.#updates.output(id, added, tail))
        this.#outbox.push(() => this.#send(update));
    }
    this.#outputs.clear();
  }

  /** Sends the change of a file with its old and its new content, as the log has it. */
  #sendDiff({ toolCallId, ...change }: Extract<AgentEvent, { type: 'file_changed' }>): void {
    const count = this.#diffs.get(toolCallId) ?? 0;
    const isShown = this.#updates.shows(toolCallId) && count < maxDiffs;
    if (!isShown) return;
    this.#diffs.set(toolCallId, count + 1);
    this.#outbox.push(async () => {
      const diff = await recordedDiff(this.#options.log, change);
      // Later changes of the same call would replace the first one, so only the first is sent.
      if (diff === undefined || count > 0) return;
      const locations = [{ path: change.path }];
      const fields = change.name === 'bash' ? { locations } : { content: [diff], locations };
      await this.#send({ sessionUpdate: 'tool_call_update', toolCallId, ...fields });
    });
  }

  #sendUsage(): void {
    const used = this.#conversation.state.stats.contextTokens;
    const size = this.#options.built.chosen.contextTokens;
    if (used === undefined || size === undefined) return;
    this.#outbox.push(() => this.#send({ sessionUpdate: 'usage_update', used, size }));
  }

  /** Ends the prompts that the finished run has answered, after all updates are sent. */
  #endPrompts(stop: Stop): void {
    const answered = [...this.#prompts.values()].filter(({ isRecorded }) => isRecorded);
    const error = this.#lastError;
    this.#lastError = undefined;
    this.#diffs.clear();
    const settled = this.#conversation.settled();
    const finish = () => {
      for (const { end } of answered)
        if (stop.reason === 'error') end.reject(runError(error));
        else end.resolve({ stopReason: stopReasonOf(stop) });
    };
    // The outbox does not wait for the run, because the next run sends its updates through it.
    this.#outbox.push(async () => void settled.then(finish, finish));
  }

  /** Ends the prompts of a run that the log could not record. */
  #failPrompts({ stop, cause }: RunResult): void {
    const isHeld = cause instanceof LogError && cause.code === 'held';
    const isUnrecorded = cause instanceof LogError || cause instanceof AgentError;
    if (stop.reason !== 'error' || isHeld || !isUnrecorded) return;
    for (const { end } of this.#prompts.values()) end.reject(runError(messageOf(cause)));
  }

  /** Sends the notes that the terminal prints between messages. */
  #print(blocks: readonly Block[]): void {
    for (const block of blocks) {
      if (block.type !== 'note') continue;
      // A retry takes sent text back. The editor cannot remove this text, so it must show the note.
      const isRetry = block.tone === 'mark' && block.text.startsWith('↻');
      const severity = block.tone === 'bad' ? 'error' : isRetry ? 'warning' : 'info';
      this.#outbox.push(() => this.#notice(severity, block.text));
    }
  }

  /** Sends a note. An editor without notices gets warnings as thoughts, and no other notes. */
  async #notice(severity: 'info' | 'warning' | 'error', title: string): Promise<void> {
    if (this.#options.capabilities.session?.notices)
      return this.#send({ sessionUpdate: 'notice', severity, title });
    if (severity !== 'warning') return;
    const content = { type: 'text', text: `${title}\n\n` } as const;
    await this.#send({ sessionUpdate: 'agent_thought_chunk', content });
  }

  async #showForeign({ id: toolCallId, name }: PendingApproval): Promise<void> {
    const fields = { toolCallId, title: shortTitle(name), status: 'pending' } as const;
    await this.#send({ sessionUpdate: 'tool_call', ...fields });
  }

  async #closeForeign({ id: toolCallId }: PendingApproval, isAllowed: boolean): Promise<void> {
    const status = isAllowed ? 'completed' : 'failed';
    await this.#send({ sessionUpdate: 'tool_call_update', toolCallId, status });
  }

  /**
   * Sends all waiting updates and then runs a request, so that the editor already knows the call of
   * the request.
   */
  async #flushed<Result>(work: () => Promise<Result>): Promise<Result> {
    await this.#flush();
    return work();
  }

  /** Sends all waiting updates in order. The log is not read further until the editor has taken them. */
  async #flush(): Promise<void> {
    this.#sendOutputs();
    const work = this.#outbox;
    this.#outbox = [];
    this.#sending = this.#sending.then(async () => {
      // An update that fails must not hold back the updates after it.
      for (const send of work)
        await send().catch((error) => this.#options.onProblem(messageOf(error)));
    });
    await this.#sending;
  }

  #sending: Promise<void> = Promise.resolve();

  async #send(update: SessionUpdate): Promise<void> {
    const { client, session } = this.#options;
    // A closed connection ends the process, so its error is not reported a second time.
    await client
      .notify(methods.client.session.update, { sessionId: session, update })
      .catch(() => {});
  }
}

function runError(message: string | undefined): RequestError {
  const text = message ?? 'the run failed';
  return RequestError.internalError(undefined, text);
}

function stopReasonOf({ reason, cause }: Stop): PromptResponse['stopReason'] {
  switch (reason) {
    case 'aborted':
      return 'cancelled';
    case 'length':
      return 'max_tokens';
    case 'limit':
      return cause === 'maxTokens' ? 'max_tokens' : 'max_turn_requests';
    case 'refusal':
    case 'content_filter':
    case 'blocked':
      return 'refusal';
    default:
      return 'end_turn';
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
