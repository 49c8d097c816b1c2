import { fromBase64, type JsonObject, type PartId, type ValueWriter } from '@millrace/core';
import { textIn } from '../../json/fields.ts';
import { type ItemContext, OutputItem, type ReasoningOrigin } from './output-item.ts';

/**
 * An item that only the provider can interpret, such as a search, code, MCP or compaction. It is stored in
 * the provider's format, so that it can be displayed and sent back.
 */
export class HostedItem extends OutputItem {
  readonly type: string;
  #part: ValueWriter | undefined;

  constructor(context: ItemContext, origin: ReasoningOrigin, type: string) {
    super(context, origin);
    this.type = type;
  }

  override open(item: JsonObject): void {
    super.open(item);
    if (!this.isClosed) this.#set(item);
  }

  /** Stores the status that the provider reports for the item. */
  progress(status: string): void {
    if (!this.isClosed) this.#set({ ...this.fields, status });
  }

  /** Returns true, because every version of the item is valid. Encrypted content differs in each event. */
  override matches(_item: JsonObject): boolean {
    return true;
  }

  override retract(): void {
    this.#part?.retract('withdrawn');
  }

  protected override finish(item: JsonObject): void {
    this.#set(item).commit({ providerState: this.stateOf(item, this.ownFields) });
  }

  protected override endWithoutDone(isResponseWhole: boolean): void {
    if (isResponseWhole) this.finish(this.fields);
    else this.#part?.retract('cut');
  }

  protected get ownFields(): JsonObject {
    return { type: this.type, ...(this.id === undefined ? {} : { id: this.id }) };
  }

  #set(item: JsonObject): ValueWriter {
    this.#part ??= this.context.writer.custom(this.type);
    this.#part.set(item);
    return this.#part;
  }
}

/** A generated image. One part contains the call, and a second part contains the bytes. */
export class ImageItem extends HostedItem {
  #picture: PartId | undefined;
  #isFinal = false;

  override open(item: JsonObject): void {
    const { result, ...rest } = item;
    super.open(rest);
  }

  /** Writes a preview of the image. It replaces the previous preview. */
  preview(event: JsonObject): void {
    const bytes = base64Bytes(textIn(event, 'partial_image_b64') ?? '');
    if (!this.isClosed && bytes?.length) this.#show(event, bytes);
  }

  override matches(item: JsonObject): boolean {
    return this.#isFinal || textIn(item, 'result') === undefined;
  }

  override retract(): void {
    super.retract();
    if (this.#picture !== undefined) this.context.writer.retract(this.#picture, 'withdrawn');
  }

  protected override finish(item: JsonObject): void {
    const { result, ...rest } = item;
    const data = textIn(item, 'result');
    const bytes = base64Bytes(data ?? '');
    // If the bytes cannot be decoded, the part of the call keeps them unchanged.
    super.finish(bytes === undefined ? item : rest);
    this.#isFinal = data !== undefined;
    if (bytes?.length) this.#show(item, bytes);
  }

  #show(source: JsonObject, bytes: Uint8Array): void {
    const { writer } = this.context;
    const format = textIn(source, 'output_format') ?? textIn(this.fields, 'output_format');
    if (this.#picture !== undefined) writer.retract(this.#picture, 'withdrawn');
    this.#picture = writer.whole({
      kind: 'media',
      mimeType: `image/${format ?? 'png'}`,
      source: { type: 'bytes', bytes },
      ...(this.#isFinal ? { providerState: this.state(this.ownFields) } : { partial: true }),
    });
  }
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

/** Decodes base64 in the standard or URL-safe alphabet, with or without padding. */
export function base64Bytes(text: string): Uint8Array | undefined {
  const digits = text
    .replace(/(?<![=\s])[=\s]+$/, '')
    .replaceAll('-', '+')
    .replaceAll('_', '/');
  return fromBase64(padded(digits));
}

/** Adds padding, and sets the unused bits of the last digit to zero. */
function padded(digits: string): string {
  const over = digits.length % 4;
  if (over === 0) return digits;
  const last = alphabet.indexOf(digits.charAt(digits.length - 1));
  const mask = over === 2 ? 0b110000 : 0b111100;
  const cleared = last < 0 ? '?' : alphabet.charAt(last & mask);
  return `${digits.slice(0, -1)}${cleared}`.padEnd(digits.length + 4 - over, '=');
}
