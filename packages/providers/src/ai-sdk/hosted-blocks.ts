import type { DeltaWriter, JsonValue, PartWriter, ValueWriter } from '@millrace/core';
import type { Owner } from '../history/own-parts.ts';
import { asJson } from './as-json.ts';
import type { PartOf } from './model.ts';
import { ownStateOf } from './provider-state.ts';

type HostedPart =
  | PartOf<'tool-call'>
  | PartOf<'custom'>
  | PartOf<'reasoning-file'>
  | PartOf<'tool-approval-request'>;

/** What only the provider can do something with: kept as it came, to be sent again. */
export class HostedBlocks {
  readonly #writer: DeltaWriter;
  readonly #owner: Owner;
  /** Results that are preliminary still, by the id of their call. */
  readonly #results = new Map<string, { readonly part: ValueWriter; metadata: unknown }>();

  constructor(writer: DeltaWriter, owner: Owner) {
    this.#writer = writer;
    this.#owner = owner;
  }

  /** `instead` is what it was taken for. */
  keep(part: HostedPart, instead?: PartWriter | undefined): void {
    const { providerMetadata, ...rest } = part;
    const block = {
      kind: 'custom',
      name: part.type === 'custom' ? part.kind : part.type,
      value: keptOf(rest),
      providerState: ownStateOf(this.#owner, providerMetadata),
    } as const;
    if (instead === undefined) this.#writer.whole(block);
    else instead.replace(block);
  }

  /** Preliminary results replace each other until the last one comes. */
  result(given: PartOf<'tool-result'>): void {
    const { providerMetadata, ...rest } = given;
    const { toolCallId, type } = rest;
    const result = this.#results.get(toolCallId) ?? {
      part: this.#writer.custom(type),
      metadata: undefined,
    };
    result.metadata = providerMetadata ?? result.metadata;
    result.part.set(keptOf(rest));
    this.#results.set(toolCallId, result);
    if (!('preliminary' in rest && rest.preliminary)) this.#commit(toolCallId);
  }

  /** The response is complete, and so is what it has of results. */
  end(): void {
    for (const id of [...this.#results.keys()]) this.#commit(id);
  }

  #commit(id: string): void {
    const result = this.#results.get(id);
    this.#results.delete(id);
    result?.part.commit({ providerState: ownStateOf(this.#owner, result.metadata) });
  }
}

function keptOf(part: object): JsonValue {
  return asJson(part) ?? null;
}
