import {
  type BytesWriter,
  fromBase64,
  type JsonObject,
  parseJson,
  type ReasoningWriter,
} from '@millrace/core';
import { Sources } from '../answer/grounding.ts';
import { type LogprobEntry, Logprobs } from '../answer/logprobs.ts';
import { fault } from '../errors/wire-fault.ts';
import type { StateOwner } from '../history/sendable-parts.ts';
import { textIn } from '../json/fields.ts';
import { TextBlock } from '../wire/text-block.ts';
import type { ReaderContext } from '../wire/wire.ts';
import { partState } from './part-state.ts';

/** Maximum size of one append, in bytes. It is much smaller than the limit of the protocol. */
const maxSliceBytes = 2 ** 20;

/**
 * Writes all content except calls. Only one part is open at a time, and content of a different kind starts a
 * new part. The exception is requested JSON, which can continue after other content.
 */
export class TextBlocks {
  readonly #context: ReaderContext;
  readonly #owner: StateOwner;
  readonly #sources = new Sources();
  /** True if citations arrived while no text was open. */
  #isUncited = false;
  readonly #looseLogprobs = new Logprobs();
  #text: AnswerText | undefined;
  #thought: ReasoningWriter | undefined;
  #audio: { readonly mimeType: string; readonly part: BytesWriter } | undefined;

  constructor(context: ReaderContext, owner: StateOwner) {
    this.#context = context;
    this.#owner = owner;
  }

  text(text: string, signature: string | undefined): void {
    if (signature !== undefined) this.#signedText(text, signature);
    else if (text !== '') this.#answerText().append(text);
  }

  thought(text: string, signature: string | undefined): void {
    if (signature !== undefined) {
      this.close();
      const part = this.#context.writer.reasoning('summary');
      part.append(text);
      part.commit({ providerState: partState(this.#owner, { thoughtSignature: signature }) });
    } else if (text !== '') {
      if (this.#thought === undefined) this.close();
      this.#thought ??= this.#context.writer.reasoning('summary');
      this.#thought.append(text);
    }
  }

  /** Writes an image, or a piece of audio. The next piece of audio continues the same part. */
  media(data: JsonObject, signature: string | undefined, isThought: boolean): void {
    const mimeType = textIn(data, 'mimeType') ?? 'application/octet-stream';
    const bytes = decodeBase64(textIn(data, 'data') ?? '');
    if (signature === undefined && !isThought && mimeType.startsWith('audio/')) {
      return this.#appendAudio(mimeType, bytes);
    }
    this.close();
    const part = this.#context.writer.media(mimeType);
    appendInSlices(part, bytes);
    if (isThought) part.metadata({ thought: true });
    const thought = isThought ? true : undefined;
    part.commit({
      providerState: partState(this.#owner, { thoughtSignature: signature, thought }),
    });
  }

  /** Stores a part of a hosted tool, or a part of an unknown kind, in the provider's format. */
  custom(name: string, part: JsonObject): void {
    this.close();
    const { provider, model } = this.#owner;
    const thoughtSignature = textIn(part, 'thoughtSignature');
    const data = thoughtSignature === undefined ? {} : { thoughtSignature };
    const providerState = { provider, model, data };
    this.#context.writer.whole({ kind: 'custom', name, value: part, providerState });
  }

  /** Reads the sources in a candidate and adds them to the open text. */
  cite(candidate: JsonObject): void {
    if (!this.#sources.read(candidate)) return;
    if (this.#text === undefined) this.#isUncited = true;
    else this.#text.sources(() => this.#sources.metadata);
  }

  /** Adds log probabilities to the open text. If no text is open, they become a separate part at the end. */
  logprobs(entries: readonly LogprobEntry[]): void {
    if (this.#text !== undefined) this.#text.logprobs(entries);
    else this.#looseLogprobs.add(entries);
  }

  close(): void {
    this.#closeOthers();
    if (this.#text?.isUnfinished) return;
    this.#endText();
  }

  /** Ends the response. If there is no text for the citations, they become a separate part. */
  end(): void {
    this.#closeOthers();
    this.#endText();
    const { writer } = this.#context;
    if (this.#isUncited)
      writer.whole({ kind: 'custom', name: 'groundingMetadata', value: this.#sources.metadata });
    this.#looseLogprobs.write(writer);
  }

  #closeOthers(): void {
    this.#thought?.commit();
    this.#audio?.part.commit();
    this.#thought = undefined;
    this.#audio = undefined;
  }

  #endText(): void {
    this.#text?.end();
    this.#text = undefined;
  }

  #answerText(): AnswerText {
    this.#closeOthers();
    if (this.#text !== undefined) return this.#text;
    this.#text = new AnswerText(this.#context, this.#owner);
    if (this.#isUncited) this.#text.sources(() => this.#sources.metadata);
    this.#isUncited = false;
    return this.#text;
  }

  #signedText(text: string, thoughtSignature: string): void {
    if (text !== '' && this.#context.request.output !== undefined) {
      return this.#answerText().appendSigned(text, thoughtSignature);
    }
    this.close();
    const providerState = partState(this.#owner, { thoughtSignature });
    if (text === '') return this.#context.writer.text().commit({ providerState });
    const part = this.#answerText();
    part.append(text);
    part.commit({ providerState });
    this.#text = undefined;
  }

  #appendAudio(mimeType: string, bytes: Uint8Array): void {
    if (this.#audio?.mimeType !== mimeType) {
      this.close();
      this.#audio = { mimeType, part: this.#context.writer.media(mimeType) };
    }
    appendInSlices(this.#audio.part, bytes);
  }
}

function appendInSlices(part: BytesWriter, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length; at += maxSliceBytes) {
    part.append(bytes.subarray(at, at + maxSliceBytes));
  }
}

/**
 * Answer text while it streams. Each signed piece of text becomes a separate part. Requested JSON must be one
 * part, so its signed pieces are stored in the state and sent back unchanged.
 */
class AnswerText extends TextBlock {
  readonly #owner: StateOwner;
  readonly #isJson: boolean;
  readonly #pieces: JsonObject[] = [];
  #unsigned = '';

  constructor({ writer, request }: ReaderContext, owner: StateOwner) {
    super(writer, request);
    this.#owner = owner;
    this.#isJson = request.output !== undefined;
  }

  override append(chunk: string): void {
    super.append(chunk);
    if (this.#isJson) this.#unsigned += chunk;
  }

  appendSigned(text: string, thoughtSignature: string): void {
    super.append(text);
    this.#endUnsignedPiece();
    this.#pieces.push({ text, thoughtSignature });
  }

  /** True if the text starts like the requested JSON and is not complete yet. */
  get isUnfinished(): boolean {
    if (!this.#isJson) return false;
    const text = this.#pieces.map((piece) => piece['text']).join('') + this.#unsigned;
    return /^\s*[[{"]/.test(text) && !parseJson(text).ok;
  }

  end(): void {
    if (this.#pieces.length === 0) return this.commit();
    this.#endUnsignedPiece();
    this.commit({ providerState: partState(this.#owner, { parts: this.#pieces }) });
  }

  #endUnsignedPiece(): void {
    if (this.#unsigned !== '') this.#pieces.push({ text: this.#unsigned });
    this.#unsigned = '';
  }
}

/** Decodes base64 in the standard or URL-safe alphabet, with or without padding. */
function decodeBase64(base64: string): Uint8Array {
  const bytes = fromBase64(base64) ?? fromBase64(standardBase64(base64));
  if (bytes === undefined) throw fault('protocol_error', 'the data of a part is not base64');
  return bytes;
}

function standardBase64(base64: string): string {
  const digits = base64
    .replaceAll('-', '+')
    .replaceAll('_', '/')
    .replace(/(?<!=)=+$/, '');
  return digits.padEnd(Math.ceil(digits.length / 4) * 4, '=');
}
