import type { Delta, PartId } from '@millrace/core';
import type { StreamStep } from '@millrace/providers';

export interface AnswerCall {
  readonly callId: string;
  readonly name: string;
}

/** The calls of an answer, as they stand while its steps pass by. */
export class AnswerCalls {
  readonly #calls = new Map<PartId, AnswerCall>();

  get calls(): readonly AnswerCall[] {
    return [...this.#calls.values()];
  }

  async *watch(steps: AsyncIterable<StreamStep>): AsyncGenerator<StreamStep> {
    for await (const step of steps) {
      for (const delta of step.deltas) this.#note(delta);
      yield step;
    }
  }

  #note(delta: Delta): void {
    switch (delta.type) {
      case 'begin_part':
        return delta.kind === 'tool_call' ? this.#add(delta.partId, delta) : undefined;
      case 'commit_part':
        return delta.part?.kind === 'tool_call' ? this.#add(delta.partId, delta.part) : undefined;
      case 'retract_part':
        this.#calls.delete(delta.partId);
        return;
      default:
        return;
    }
  }

  #add(id: PartId, { toolCallId, name }: { readonly toolCallId: string; readonly name: string }) {
    this.#calls.set(id, { callId: toolCallId, name });
  }
}
