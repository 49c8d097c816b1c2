import { OpenAIChatCompletionsModel } from '@openai/agents';
import type { Candidate } from '../candidate.ts';
import { candidateName } from './candidate-name.ts';
import { openaiClient } from './openai.ts';
import { model, prompt, tools } from './request.ts';

type Events = ReturnType<OpenAIChatCompletionsModel['getStreamedResponse']>;
type Event = Events extends AsyncIterable<infer Each> ? Each : never;
type Output = Extract<Event, { type: 'response_done' }>['response']['output'];

const request = {
  input: prompt,
  modelSettings: {},
  tools: tools.map((tool) => ({ type: 'function' as const, strict: true, ...tool })),
  outputType: 'text' as const,
  handoffs: [],
  tracing: false as const,
};

/** Counts only the library's own events, and not the raw chunks that it also forwards. */
export const openaiAgents: Candidate = {
  name: candidateName('@openai/agents', 'model stream'),
  run: async (reads) => {
    let [characters, streamed] = [0, 0];
    const agentModel = new OpenAIChatCompletionsModel(openaiClient(reads), model);
    for await (const event of agentModel.getStreamedResponse(request)) {
      if (event.type === 'output_text_delta') streamed += event.delta.length;
      if (event.type === 'response_done') characters = lengthOf(event.response.output);
    }
    return { characters, streamed };
  },
};

function lengthOf(output: Output): number {
  return output.reduce((sum, item) => {
    if (item.type === 'function_call') return sum + item.arguments.length;
    if (item.type !== 'message') return sum;
    return item.content.reduce(
      (length, part) => length + (part.type === 'output_text' ? part.text.length : 0),
      sum,
    );
  }, 0);
}
