import type { Ids, Part } from '@millrace/core';
import { toolCallPart } from '@millrace/core';
import { createProvider, type Provider, type StreamStep } from '@millrace/providers';
import { scriptedProvider } from '@millrace/providers/scripted';

/** Where it waits in what it says. */
const pauses = '…';

/** A model that looks at the weather, hands over, and says the last word; in each `…` it waits to be told to go on. */
export class MillProvider {
  readonly provider: Provider;
  #gate = Promise.withResolvers<void>();

  constructor() {
    this.provider = createProvider('mill', 'mill-1', (request, context) => {
      const results = request.items.flatMap(({ parts }) =>
        parts.filter(({ kind }) => kind === 'tool_result'),
      );
      const parts = answer(results.length, context.ids);
      const how = { id: 'mill', model: 'mill-1', pieces: 'token' } as const;
      const said = scriptedProvider([{ content: { parts } }], how).stream(request, context);
      return this.#haltingly(said);
    });
  }

  /** From the `…` that it is at, to the next. */
  goOn(): void {
    this.#gate.resolve();
  }

  async *#haltingly(steps: AsyncIterable<StreamStep>): AsyncGenerator<StreamStep> {
    for await (const step of steps) {
      yield step;
      const isPause = step.deltas.some(
        (delta) => delta.type === 'append_text' && delta.chunk.includes(pauses),
      );
      if (!isPause) continue;
      await this.#gate.promise;
      this.#gate = Promise.withResolvers();
    }
  }
}

function answer(results: number, ids: Pick<Ids, 'toolCall'>): readonly (Part | string)[] {
  switch (results) {
    case 0:
      return [
        { kind: 'reasoning', form: 'summary', text: 'Is it wet?' },
        'Let me look … at the sky.',
        toolCallPart(ids.toolCall(), 'weather', { town: 'Bath' }),
      ];
    case 1:
      return [toolCallPart(ids.toolCall(), 'transfer_to_Baker', {})];
    default:
      return ['Bread … is ready.'];
  }
}
