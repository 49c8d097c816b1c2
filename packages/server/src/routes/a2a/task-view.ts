import {
  type AskedApproval,
  attemptOf,
  emptyState,
  findOpen,
  type JsonObject,
  type Part,
  sessionId,
} from '@millrace/core';
import { partOf } from '../../messages/part-content.ts';
import { describeQuestion } from '../mcp/question-text.ts';
import { endText, type RunMoment, RunView } from '../mcp/run-view.ts';
import type { Question, ResponseStep } from '../openai/response-log.ts';
import { questionData } from './answers.ts';
import type { TaskPlace } from './contract.ts';
import {
  type Artifact,
  agentMessage,
  agentParts,
  artifactsOf,
  historyOf,
  itemsOfRun,
  messageContent,
} from './protocol/task-parts.ts';
import { endState, isTerminal, openState, type TaskState } from './protocol/task-state.ts';

/** What a task contains, in addition to its status. */
export interface TaskFields {
  /** The number of messages, from the end. Default: the last 100 messages. */
  readonly historyLength?: number | undefined;
  /** Default: true. */
  readonly hasArtifacts?: boolean | undefined;
}

/** The number of messages of a task if the client sets no limit. */
const defaultHistory = 100;
/** Maximum number of messages of a task. */
const maxHistory = 1000;

interface Status {
  readonly state: TaskState;
  /** The ids of the open questions. Another question is another status. */
  readonly questions: string;
  readonly at: number;
  readonly message?: JsonObject;
}

/**
 * Shows a run as a task of A2A, and its records as events. The view keeps only what the client has. All
 * content comes from the folded state.
 *
 * - Texts, data and files of the agent are artifacts. A text is streamed in pieces.
 * - Reasoning, calls and results are messages of the status, and of the history.
 */
export class TaskView {
  readonly #place: TaskPlace;
  readonly #run: RunView;
  readonly #turns = new Set<number>();
  readonly #userItems = new Set<string>();
  /** The artifacts that the client has, with the lengths of their texts. */
  readonly #known = new Map<string, number>();
  /** The parts about which the client has a message. */
  readonly #told = new Set<string>();
  /** The ids of all questions of the run. */
  readonly #asked = new Set<string>();
  #moment: RunMoment;
  #status: Status;

  constructor(question: Question, place: TaskPlace) {
    this.#place = place;
    // The view does not use the texts about progress.
    this.#run = new RunView(question, Number.MAX_SAFE_INTEGER);
    this.#moment = {
      ...{ state: emptyState(sessionId(place.sessionId)), at: question.offset, time: question.at },
      ...{ end: undefined, waiting: [], awaitsOutput: false, news: '', logs: [] },
    };
    this.#status = { state: 'TASK_STATE_SUBMITTED', questions: '', at: question.at };
  }

  get state(): TaskState {
    return this.#status.state;
  }

  /** The time of the status, in milliseconds since 1970. */
  get at(): number {
    return this.#status.at;
  }

  /** The questions that wait for an answer. */
  get waiting(): RunMoment['waiting'] {
    return this.#moment.waiting;
  }

  /** True if the run has an open question, also while other calls still run. */
  get isAsking(): boolean {
    return this.#moment.state.asked.length > 0;
  }

  /** True if the task has asked one question up to now. An answer without an id can then mean only this one. */
  get isOnlyQuestion(): boolean {
    return this.#asked.size <= 1;
  }

  /** True after the end of the task. */
  get isOver(): boolean {
    return isTerminal(this.#status.state);
  }

  /** Returns the task as it is now. The following events add to it. */
  task({ historyLength, hasArtifacts = true }: TaskFields = {}): JsonObject {
    const { state } = this.#moment;
    const items = itemsOfRun(state, this.#userItems, this.#turns);
    const parts = agentParts(state, items);
    const artifacts = parts.flatMap(({ id, part }) => artifactsOf(id, part, this.#place));
    for (const { id, length } of artifacts) this.#known.set(id, length);
    for (const { id, part } of parts)
      if (messageContent(part) !== undefined && findOpen(state, id as never) === undefined)
        this.#told.add(id);
    const count = Math.min(historyLength ?? defaultHistory, maxHistory);
    const history = count === 0 ? [] : historyOf(items, this.#place).slice(-count);
    const { taskId: id, contextId } = this.#place;
    return {
      ...{ id, contextId, status: this.#statusJson() },
      ...(hasArtifacts && { artifacts: artifacts.map(({ artifact }) => artifact) }),
      ...(history.length > 0 && { history }),
    };
  }

  /** Returns the events of a record. */
  add(step: ResponseStep): readonly JsonObject[] {
    const { fact, turn } = step.record;
    if (fact?.type === 'turn_started') this.#turns.add(turn);
    if (fact?.type === 'item_started' && fact.kind === 'user') this.#userItems.add(fact.itemId);
    if (fact?.type === 'approval_asked') this.#asked.add(fact.toolCallId);
    this.#moment = this.#run.add([step]);
    return [...this.#contentOf(step), ...this.#newStatus(step.record.time)];
  }

  /** Ends the task, because its message will get no answer. Returns the event. */
  fail(message: string): JsonObject {
    const { taskId } = this.#place;
    const said = agentMessage(`${taskId}:failed`, [{ text: message }], this.#place);
    const { at } = this.#status;
    this.#status = { state: 'TASK_STATE_FAILED', questions: '', at, message: said };
    return this.#statusUpdate(this.#statusJson());
  }

  #newStatus(time: number): readonly JsonObject[] {
    const { end, waiting, at } = this.#moment;
    const state = end === undefined ? openState(this.#moment) : endState(end);
    const questions = waiting.map(({ toolCallId }) => toolCallId).join();
    if (state === this.#status.state && questions === this.#status.questions) return [];
    const parts = this.#statusParts();
    const { taskId } = this.#place;
    const message = agentMessage(`${taskId}:${at}`, parts, this.#place);
    this.#status = { state, questions, at: time, ...(parts.length > 0 && { message }) };
    return [this.#statusUpdate(this.#statusJson())];
  }

  /** Returns what the status says in words and data: the questions, or why the task failed. */
  #statusParts(): readonly JsonObject[] {
    const { end, waiting, state } = this.#moment;
    if (end !== undefined) {
      const text = endText(end);
      return text === undefined ? [] : [{ text }];
    }
    return waiting.flatMap((asked) => [
      { text: `${describeQuestion(asked, state)}${this.#hintFor(asked)}` },
      { data: questionData(asked) },
    ]);
  }

  /** Returns how to approve a call with a text, if the text must name it. */
  #hintFor({ from, toolCallId }: AskedApproval): string {
    if (this.isOnlyQuestion || from?.form !== undefined) return '';
    return `\nTo allow this call, answer: yes ${toolCallId}`;
  }

  #statusJson(): JsonObject {
    const { state, message, at } = this.#status;
    return { state, ...(message && { message }), timestamp: new Date(at).toISOString() };
  }

  #statusUpdate(status: JsonObject): JsonObject {
    const { taskId, contextId } = this.#place;
    return { statusUpdate: { taskId, contextId, status } };
  }

  #contentOf({ record, before, after }: ResponseStep): readonly JsonObject[] {
    const { delta, fact, turn, attempt } = record;
    if (!this.#turns.has(turn)) return [];
    if (fact !== undefined) {
      if (fact.type === 'snapshot') return this.#settled(turn, record.time);
      if (fact.type !== 'attempt_superseded') return [];
      return this.#drop((id) => {
        const at = attemptOf(id as never);
        return at.turn === turn && at.attempt === attempt;
      });
    }
    if (before.fold === after.fold) return [];
    switch (delta.type) {
      case 'append_text': {
        const open = findOpen(before.fold, delta.partId);
        if (open?.begin.kind !== 'text' || open.itemKind !== 'assistant') return [];
        return this.#grow(delta.partId, delta.chunk.slice(open.text.length - delta.at), false);
      }
      case 'commit_part': {
        const part = partOf(after.fold, delta.partId);
        const sent = findOpen(before.fold, delta.partId)?.text ?? '';
        return part === undefined ? [] : this.#finish(delta.partId, part, record.time, sent);
      }
      case 'retract_part':
        return this.#drop((id) => id === delta.partId);
      default:
        return [];
    }
  }

  /** Emits the parts of a turn whose deltas were replaced by a snapshot. */
  #settled(turn: number, time: number): readonly JsonObject[] {
    const { state } = this.#moment;
    const items = itemsOfRun(state, new Set(), new Set([turn]));
    return agentParts(state, items).flatMap(({ id, part }) => this.#finish(id, part, time));
  }

  /** Emits the rest of a finished part. `sent` is the text of the part that the client already has. */
  #finish(id: string, part: Part, time: number, sent?: string): readonly JsonObject[] {
    const content = messageContent(part);
    const news = content === undefined || this.#told.has(id) ? [] : [this.#tell(id, content, time)];
    if (part.kind === 'text' && this.#known.has(id)) {
      const length = this.#known.get(id) ?? 0;
      const isMore = sent === undefined ? true : part.text.startsWith(sent);
      if (sent === undefined && length === part.text.length) return [];
      if (isMore) return this.#grow(id, part.text.slice(length), true);
    }
    const whole = artifactsOf(id, part, this.#place).filter(
      (one) => part.kind === 'text' || !this.#known.has(one.id),
    );
    return [...news, ...whole.map((one) => this.#replace(one))];
  }

  #tell(id: string, content: JsonObject, time: number): JsonObject {
    this.#told.add(id);
    const message = agentMessage(id, [content], this.#place);
    const timestamp = new Date(time).toISOString();
    return this.#statusUpdate({ state: 'TASK_STATE_WORKING', message, timestamp });
  }

  #grow(id: string, text: string, lastChunk: boolean): readonly JsonObject[] {
    const length = this.#known.get(id);
    if (text === '' && (length === undefined || !lastChunk)) return [];
    this.#known.set(id, (length ?? 0) + text.length);
    const artifact = { artifactId: id, parts: [{ text }] };
    return [this.#artifactUpdate(artifact, { append: length !== undefined, lastChunk })];
  }

  #replace({ id, length, artifact }: Artifact): JsonObject {
    this.#known.set(id, length);
    return this.#artifactUpdate(artifact, { append: false, lastChunk: true });
  }

  /** Empties the artifacts of retracted parts. The protocol has no event that removes an artifact. */
  #drop(isDropped: (id: string) => boolean): readonly JsonObject[] {
    const dropped = [...this.#known.keys()].filter(isDropped);
    return dropped.map((artifactId) => {
      this.#known.delete(artifactId);
      const artifact = { artifactId, parts: [{ text: '' }], metadata: { retracted: true } };
      return this.#artifactUpdate(artifact, { append: false, lastChunk: true });
    });
  }

  #artifactUpdate(artifact: JsonObject, more: JsonObject): JsonObject {
    const { taskId, contextId } = this.#place;
    return { artifactUpdate: { taskId, contextId, artifact, ...more } };
  }
}
