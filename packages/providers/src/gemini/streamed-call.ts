import type {
  DeltaWriter,
  JsonObject,
  ProviderState,
  TextWriter,
  ToolCallId,
} from '@millrace/core';
import { objectIn, objectsIn } from '../json/fields.ts';
import { StreamedArguments } from './streamed-arguments.ts';

/** A call whose arguments come in pieces. */
export class StreamedCall {
  readonly #part: TextWriter;
  readonly #id: ToolCallId;
  readonly name: string;
  readonly #arguments = new StreamedArguments();
  /** The provider's own, where it gave one. */
  readonly givenId: string | undefined;
  #signature: string | undefined;

  constructor(writer: DeltaWriter, id: ToolCallId, name: string, givenId: string | undefined) {
    this.#part = writer.toolCall(id, name);
    this.#id = id;
    this.name = name;
    this.givenId = givenId;
  }

  get signature(): string | undefined {
    return this.#signature;
  }

  feed(call: JsonObject, signature: string | undefined): void {
    this.#signature ??= signature;
    const args = objectIn(call, 'args');
    if (args !== undefined) this.#arguments.give(args);
    for (const partial of objectsIn(call, 'partialArgs')) {
      this.#part.append(this.#arguments.add(partial));
    }
  }

  commit(providerState: ProviderState | undefined): void {
    const end = this.#arguments.end();
    if ('append' in end) {
      this.#part.append(end.append);
      return this.#part.commit({ providerState });
    }
    this.#part.replace({
      kind: 'tool_call',
      toolCallId: this.#id,
      name: this.name,
      arguments: end.replace,
      ...(providerState === undefined ? {} : { providerState }),
    });
  }

  retract(): void {
    this.#part.retract('cut');
  }
}
