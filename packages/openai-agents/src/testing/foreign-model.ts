import { type Model, type ModelProvider, type StreamEvent, Usage } from '@openai/agents';

type Output = Extract<StreamEvent, { type: 'response_done' }>['response']['output'];

/**
 * Returns a model like that of another vendor. It streams text without ids, and sends everything else at
 * the end.
 */
export function foreignModels(answers: readonly Output[]): ModelProvider {
  let count = 0;
  const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
  const next = () => answers[count++] ?? [];
  const model: Model = {
    getResponse: async () => ({ output: next(), usage: new Usage(usage) }),
    async *getStreamedResponse() {
      const output = next();
      for (const item of output) {
        if (item.type !== 'message') continue;
        for (const content of item.content)
          if (content.type === 'output_text')
            yield { type: 'output_text_delta', delta: content.text };
      }
      yield { type: 'response_done', response: { id: `r${count}`, output, usage } };
    },
  };
  return { getModel: () => model };
}

export const messageItem = (text: string): Output[number] => ({
  ...{ type: 'message', role: 'assistant', id: `m ${text}`, status: 'completed' },
  content: [{ type: 'output_text', text }],
});
export const reasoningItem = (text: string): Output[number] => ({
  ...{ type: 'reasoning', id: `t ${text}` },
  content: [{ type: 'input_text', text }],
});
export const callItem = (callId: string, name: string, input: object = {}): Output[number] => ({
  ...{ type: 'function_call', id: `f ${callId}`, callId, name, status: 'completed' },
  arguments: JSON.stringify(input),
});
