import type { JsonObject, PartId } from '@millrace/core';
import { textIn } from '../json/fields.ts';
import { base64Bytes } from './base64-bytes.ts';
import { HostedItem } from './hosted-item.ts';

/** A picture: the call, and its bytes as a part of their own. */
export class ImageItem extends HostedItem {
  #picture: PartId | undefined;
  #isFinal = false;

  override open(item: JsonObject): void {
    const { result, ...rest } = item;
    super.open(rest);
  }

  /** A sketch, which takes the place of the one before. */
  preview(event: JsonObject): void {
    const bytes = base64Bytes(textIn(event, 'partial_image_b64') ?? '');
    if (!this.isClosed && bytes?.length) this.#show(event, bytes);
  }

  override agrees(item: JsonObject): boolean {
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
    // What cannot be read is not lost: the call keeps it as it came.
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
