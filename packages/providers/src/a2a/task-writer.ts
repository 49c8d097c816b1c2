import {
  type Delta,
  DeltaWriter,
  type DeltaWriterOptions,
  type FilePart,
  fromBase64,
  isId,
  type JsonObject,
  type JsonValue,
  type MediaPart,
  type TextWriter,
} from '@millrace/core';
import { withSession } from '../history/remote-state.ts';
import { closeParts } from '../provider/close-parts.ts';
import { field, maxErrorLength } from './connection.ts';

/** A task of a remote agent, as the next request needs it. It is stored in the item. */
export interface RemoteTask {
  readonly taskId: string | undefined;
  readonly contextId: string | undefined;
  readonly state: string;
  /** The artifacts that the session already has. */
  readonly artifacts: readonly string[];
}

/** Maximum number of artifacts that are remembered for a task that continues. */
const maxRemembered = 1000;

const terminal = ['COMPLETED', 'FAILED', 'CANCELED', 'REJECTED'];
const asking = ['INPUT_REQUIRED', 'AUTH_REQUIRED'];

/** The text of an artifact. It is kept in pieces, because joining it for each piece takes quadratic time. */
interface WrittenText {
  /** The parts of the text. Text after a last chunk is a new part. */
  readonly writers: TextWriter[];
  pieces: string[];
  length: number;
}

/** Converts the events of a task to deltas of an item. */
export class TaskWriter {
  readonly #writer: DeltaWriter;
  readonly #texts = new Map<string, WrittenText>();
  /** The artifacts that the session has from earlier requests, and whole artifacts of this request. */
  readonly #known: Set<string>;
  /** The messages that were written. */
  readonly #told = new Set<string>();
  readonly #continues: boolean;
  readonly #session: string | undefined;
  #taskId: string | undefined;
  #contextId: string | undefined;
  #state = '';
  #hasSnapshot = false;
  #isOver = false;
  #problem = '';

  /** `session` is the session that the task belongs to. */
  constructor(
    options: DeltaWriterOptions,
    before: RemoteTask | undefined,
    session: string | undefined,
  ) {
    this.#session = session;
    this.#writer = new DeltaWriter(options);
    this.#continues = before?.taskId !== undefined;
    this.#taskId = before?.taskId;
    this.#contextId = before?.contextId;
    this.#known = new Set(this.#continues ? before?.artifacts : []);
  }

  get taskId(): string | undefined {
    return this.#taskId;
  }

  /** True if the task has ended or waits for the user. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** The end of the name of the state, for example `COMPLETED`. Empty if the agent sent a message. */
  get state(): string {
    return this.#state;
  }

  /** The message of the agent about a failed task. */
  get problem(): string {
    return this.#problem;
  }

  take(): readonly Delta[] {
    return this.#writer.take();
  }

  add(event: JsonObject): void {
    const { task, message, statusUpdate, artifactUpdate } = event;
    if (message !== undefined) {
      this.#contextId = textIn(message, 'contextId') ?? this.#contextId;
      this.#writeMessage(message, 'text');
      this.#isOver = true;
    } else if (task !== undefined) this.#addTask(task);
    else if (statusUpdate !== undefined) this.#addStatus(field(statusUpdate, 'status'), false);
    else if (artifactUpdate !== undefined) this.#addArtifact(artifactUpdate);
  }

  #addTask(task: JsonValue): void {
    const isFirst = !this.#hasSnapshot;
    this.#hasSnapshot = true;
    this.#taskId = textIn(task, 'id') ?? this.#taskId;
    this.#contextId = textIn(task, 'contextId') ?? this.#contextId;
    for (const message of listIn(task, 'history')) {
      const id = textIn(message, 'messageId');
      const isOld = isFirst && this.#continues;
      if (field(message, 'role') !== 'ROLE_AGENT' || id === undefined) continue;
      if (isOld) this.#told.add(id);
      else this.#tell(message);
    }
    for (const artifact of listIn(task, 'artifacts')) this.#bring(artifact);
    this.#addStatus(field(task, 'status'), isFirst && this.#continues);
  }

  /** `isStale` is true if the status can be older than the answer that was sent. */
  #addStatus(status: JsonValue | undefined, isStale: boolean): void {
    const state = String(field(status, 'state') ?? '').replace(/^TASK_STATE_/, '');
    const message = field(status, 'message');
    this.#state = state;
    const asks = asking.includes(state);
    if (asks && isStale) return;
    if (state === 'COMPLETED' || asks) {
      if (message !== undefined) this.#writeMessage(message, 'text');
    } else if (terminal.includes(state)) this.#problem = textOf(message);
    else if (message !== undefined) this.#tell(message);
    this.#isOver = asks || terminal.includes(state);
  }

  /** Writes a message about the work of the agent, once. */
  #tell(message: JsonValue): void {
    const id = textIn(message, 'messageId');
    if (id === undefined || this.#told.has(id)) return;
    this.#told.add(id);
    this.#writeMessage(message, 'reasoning');
  }

  #writeMessage(message: JsonValue, kind: 'text' | 'reasoning'): void {
    for (const part of listIn(message, 'parts')) {
      const text = field(part, 'text');
      if (typeof text !== 'string') {
        this.#writeOther(part, kind === 'text' ? 'structured' : 'custom');
        continue;
      }
      if (text === '') continue;
      const isFull = field(field(part, 'metadata'), 'kind') === 'reasoning';
      const writer =
        kind === 'text' ? this.#writer.text() : this.#writer.reasoning(isFull ? 'full' : 'summary');
      writer.append(text);
      writer.commit();
    }
  }

  #addArtifact(update: JsonValue): void {
    const artifact = field(update, 'artifact');
    const id = textIn(artifact, 'artifactId');
    if (id === undefined) return;
    if (field(update, 'append') !== true) this.#bring(artifact, true);
    else this.#appendTo(id, artifact);
    if (field(update, 'lastChunk') === true) commitLast(this.#texts.get(id));
  }

  #appendTo(id: string, artifact: JsonValue | undefined): void {
    for (const part of listIn(artifact, 'parts')) {
      const text = field(part, 'text');
      if (typeof text === 'string') this.#append(id, text);
      else this.#writeOther(part, 'structured');
    }
  }

  /** Writes the content of an artifact that the session does not have yet. */
  #bring(artifact: JsonValue | undefined, isNew = false): void {
    const id = textIn(artifact, 'artifactId');
    if (id === undefined || (!isNew && this.#known.has(id))) return;
    const parts = listIn(artifact, 'parts');
    const texts = parts.flatMap((part) => field(part, 'text') ?? []);
    if (texts.length > 0 || this.#texts.has(id)) this.#write(id, texts.join(''));
    if (this.#known.has(id)) return;
    this.#known.add(id);
    for (const part of parts)
      if (field(part, 'text') === undefined) this.#writeOther(part, 'structured');
    // A later snapshot can contain more text, so only other content is known as a whole.
    if (texts.length > 0) this.#known.delete(id);
  }

  /** Makes a text of the item equal to the text of an artifact. */
  #write(id: string, text: string): void {
    const before = this.#texts.get(id);
    if (before === undefined) return this.#append(id, text);
    if (text.length >= before.length) {
      before.pieces = [before.pieces.join('')];
      if (text.startsWith(before.pieces[0] ?? ''))
        return this.#append(id, text.slice(before.length));
    }
    for (const writer of before.writers) writer.retract('withdrawn');
    this.#texts.delete(id);
    this.#append(id, text);
  }

  #append(id: string, piece: string): void {
    if (piece === '') return;
    const written = this.#texts.get(id) ?? { writers: [], pieces: [], length: 0 };
    this.#texts.set(id, written);
    const last = written.writers.at(-1);
    const writer = last?.isOpen === true ? last : this.#writer.text();
    if (writer !== last) written.writers.push(writer);
    writer.append(piece);
    written.pieces.push(piece);
    written.length += piece.length;
  }

  #writeOther(part: JsonValue, kind: 'structured' | 'custom'): void {
    const data = field(part, 'data');
    if (data !== undefined) {
      const value = { kind, value: data } as const;
      this.#writer.whole(
        kind === 'custom' ? { ...value, kind, name: 'a2a_data' } : { ...value, kind },
      );
      return;
    }
    const file = fileOf(part);
    if (file !== undefined) this.#writer.whole(file);
  }

  /** Commits all texts, and writes what the next request needs. */
  finish(): void {
    for (const written of this.#texts.values()) commitLast(written);
    this.#remember();
  }

  /** Closes the item of a task that failed or was stopped. */
  cut(reason: 'aborted' | 'cut'): void {
    closeParts(this.#writer, reason);
  }

  #remember(): void {
    const isAsking = asking.includes(this.#state);
    const artifacts = [...this.#known, ...this.#texts.keys()].slice(-maxRemembered);
    this.#writer.whole({
      ...{ kind: 'custom', name: taskPart },
      value: withSession(
        {
          state: this.#state,
          ...(this.#contextId !== undefined && { contextId: this.#contextId }),
          ...(isAsking && { taskId: this.#taskId ?? null, artifacts }),
        },
        this.#session,
      ),
    });
  }
}

/** The name of the part that contains the task of the remote agent. */
export const taskPart = 'a2a_task';

function commitLast(written: WrittenText | undefined): void {
  const last = written?.writers.at(-1);
  if (last?.isOpen === true) last.commit();
}

function textIn(value: JsonValue | undefined, name: string): string | undefined {
  const text = field(value, name);
  return typeof text === 'string' && text !== '' && text.length <= 4096 ? text : undefined;
}

/** Maximum number of entries of a list that are read. */
const maxEntries = 10_000;

function listIn(value: JsonValue | undefined, name: string): readonly JsonValue[] {
  const list = field(value, name);
  return Array.isArray(list) ? list.slice(0, maxEntries) : [];
}

function textOf(message: JsonValue | undefined): string {
  const texts = listIn(message, 'parts').flatMap((part) => field(part, 'text') ?? []);
  return texts.join('\n').slice(0, maxErrorLength);
}

function fileOf(part: JsonValue): MediaPart | FilePart | undefined {
  const [raw, url] = [field(part, 'raw'), field(part, 'url')];
  const bytes = typeof raw === 'string' ? fromBase64(raw) : undefined;
  const isLink = typeof url === 'string' && url.length <= 8192 && /^https?:\/\//.test(url);
  if (bytes === undefined && !isLink) return undefined;
  const source =
    bytes === undefined
      ? ({ type: 'url', url: String(url) } as const)
      : ({ type: 'bytes', bytes } as const);
  const given = textIn(part, 'mediaType') ?? '';
  const mimeType = /^[\w.+-]+\/[\w.+-]+$/.test(given) ? given : 'application/octet-stream';
  if (/^(?:image|audio|video)\//.test(mimeType)) return { kind: 'media', mimeType, source };
  const filename = textIn(part, 'filename');
  return {
    kind: 'file',
    name: filename !== undefined && isId(filename) ? filename : 'file',
    mimeType,
    source,
  };
}
