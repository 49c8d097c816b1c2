import {
  type DeltaWriter,
  fromBase64,
  type Ids,
  isJsonObject,
  type JsonObject,
  type MediaPart,
  type Source,
  type Stop,
} from '@millrace/core';
import type { ModelRequest } from '../contract/model-request.ts';
import { fault } from '../errors/wire-fault.ts';
import type { StateOwner } from '../history/sendable-parts.ts';
import { checkFinish, type Finish, finishOf, stopOfFinish } from './errors.ts';
import type { PartOf, StreamPart } from './model.ts';
import { type SessionOwner, stateOf, toJsonValue } from './part-state.ts';
import { AnswerText, citationOfText, OpenBlocks, ReasoningBlock, Sources } from './text-blocks.ts';
import { AiSdkToolCalls, HostedBlocks } from './tool-calls.ts';
import { type ReportedUsage, usageOf } from './usage.ts';

export interface PartsContext extends SessionOwner {
  readonly writer: DeltaWriter;
  readonly ids: Ids;
  readonly request: ModelRequest;
}

/** The types of parts that packages add at the end of every stream, even if the stream was cut off. */
const closingTypes: ReadonlySet<string> = new Set<StreamPart['type']>([
  'text-end',
  'reasoning-end',
  'tool-input-end',
  'response-metadata',
  'raw',
  'error',
  'finish',
]);

/**
 * Reads the stream parts of one response and writes deltas to the writer. It has no other side
 * effects.
 */
export class PartsReader {
  readonly #context: PartsContext;
  readonly #texts: OpenBlocks<AnswerText>;
  readonly #reasonings: OpenBlocks<ReasoningBlock>;
  readonly #calls: AiSdkToolCalls;
  readonly #hosted: HostedBlocks;
  readonly #sources = new Sources();
  #finish: Finish | undefined;
  usage: ReportedUsage | undefined;
  model: string | undefined;
  responseId: string | undefined;
  /** The data of the package about the whole response, by provider. */
  metadata: JsonObject | undefined;

  constructor(context: PartsContext) {
    const { writer, request } = context;
    this.#context = context;
    this.#texts = new OpenBlocks(
      context,
      () => new AnswerText(writer, request, this.#sources.take()),
    );
    this.#reasonings = new OpenBlocks(context, () => new ReasoningBlock(writer, context));
    this.#calls = new AiSdkToolCalls(context);
    this.#hosted = new HostedBlocks(writer, context);
  }

  get isFinished(): boolean {
    return this.#finish !== undefined;
  }

  part(part: StreamPart): void {
    // Parts that arrive after the finish part do not belong to the response.
    if (this.#finish !== undefined) return;
    if (!closingTypes.has(part.type)) this.#settle();
    switch (part.type) {
      case 'text-start':
        return this.#texts.start(part.id, part.providerMetadata);
      case 'text-delta':
        return this.#texts.append(part.id, part.delta, part.providerMetadata);
      case 'text-end':
        return this.#endText(part);
      case 'reasoning-start':
        return this.#reasonings.start(part.id, part.providerMetadata);
      case 'reasoning-delta':
        return this.#reasonings.append(part.id, part.delta, part.providerMetadata);
      case 'reasoning-end':
        return this.#reasonings.end(part.id, part.providerMetadata);
      case 'tool-input-start':
        return this.#calls.start(part);
      case 'tool-input-delta':
        return this.#calls.append(part);
      case 'tool-call':
        return this.#call(part);
      case 'tool-result':
        return this.#hosted.result(part);
      case 'custom':
      case 'reasoning-file':
      case 'tool-approval-request':
        return this.#hosted.keep(part);
      case 'file':
        return this.#file(part);
      case 'source':
        return this.#sources.add(part, this.#texts.latest);
      case 'response-metadata':
        return this.#describe(part);
      case 'finish':
        return this.#end(part);
      case 'error':
        throw part.error;
      default:
        // All other parts are ignored: warnings, pings, raw chunks, the end of an input, and parts of later
        // versions.
        return;
    }
  }

  /**
   * Commits the open parts at the end of the stream. Throws if the stream was cut off or ended with
   * an error.
   */
  finish(): Stop {
    const finish = this.#finish;
    if (finish === undefined) throw fault('truncated_stream', 'the last part is missing');
    checkFinish(finish);
    this.#texts.endAll();
    this.#reasonings.endAll();
    this.#hosted.end();
    this.#sources.end(this.#context.writer);
    return stopOfFinish(finish, this.#calls.end());
  }

  #settle(): void {
    this.#reasonings.settle();
    this.#texts.settle();
  }

  #endText(part: PartOf<'text-end'>): void {
    const citations = ('citations' in part ? part.citations : undefined) ?? [];
    for (const citation of citations) this.#texts.get(part.id)?.cite(citationOfText(citation));
    this.#texts.end(part.id, part.providerMetadata);
  }

  #call(part: PartOf<'tool-call'>): void {
    if (part.providerExecuted) this.#hosted.keep(part, this.#calls.release(part.toolCallId));
    else this.#calls.complete(part);
  }

  #file(part: PartOf<'file'>): void {
    this.#context.writer.whole(toMediaPart(part, this.#context));
  }

  #describe({ id, modelId }: PartOf<'response-metadata'>): void {
    this.responseId = id ?? this.responseId;
    this.model = modelId ?? this.model;
  }

  #end(part: PartOf<'finish'>): void {
    this.#finish = finishOf(part);
    this.usage = usageOf(part);
    this.metadata = reportedMetadata(part.providerMetadata);
  }
}

/**
 * Maximum length of metadata as JSON. Longer metadata is omitted, because the log stores it with the end of
 * the response.
 */
const maxMetadataLength = 2 ** 18;

/**
 * Converts the metadata of a response. Returns undefined if the metadata is empty, too long, or not JSON. Bad
 * metadata therefore does not make an answer fail.
 */
function reportedMetadata(metadata: unknown): JsonObject | undefined {
  try {
    const value = toJsonValue(metadata ?? null);
    const isShort = isJsonObject(value) && JSON.stringify(value).length <= maxMetadataLength;
    return isShort && Object.keys(value).length > 0 ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Converts a file that the model created to a media part. */
function toMediaPart(part: PartOf<'file'>, owner: StateOwner): MediaPart {
  const metadata = 'providerMetadata' in part ? part.providerMetadata : undefined;
  const providerState = stateOf(owner, metadata);
  return {
    kind: 'media',
    mimeType: part.mediaType,
    source: mediaSource(part.data),
    ...(providerState === undefined ? {} : { providerState }),
  };
}

function mediaSource(data: PartOf<'file'>['data']): Source {
  if (typeof data === 'string' || data instanceof Uint8Array) return bytesSource(data);
  if (data.type === 'data') return bytesSource(data.data);
  return { type: 'url', url: data.originalUrl ?? String(data.url) };
}

function bytesSource(data: string | Uint8Array): Source {
  const bytes = typeof data === 'string' ? decodeBase64(data) : data;
  if (bytes === undefined) throw fault('protocol_error', 'the bytes of a file are not base64');
  return { type: 'bytes', bytes };
}

/** Decodes base64. Accepts missing padding and the URL-safe alphabet. */
function decodeBase64(base64: string): Uint8Array | undefined {
  const digits = base64.replaceAll('-', '+').replaceAll('_', '/');
  return fromBase64(digits.padEnd(Math.ceil(digits.length / 4) * 4, '='));
}
