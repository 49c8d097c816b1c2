import { chat, StreamProcessor, toolDefinition, type UIMessage } from '@tanstack/ai';
import { OpenAIChatCompletionsTextAdapter } from '@tanstack/ai-openai';
import type { Candidate } from '../candidate.ts';
import { baseUrl, fetchOf } from '../injected-fetch.ts';
import { candidateName } from './candidate-name.ts';
import { ManualFold } from './manual-fold.ts';
import { apiKey, prompt, tools } from './request.ts';

const clientTools = tools.map(({ name, description, parameters }) =>
  toolDefinition({ name, description, inputSchema: parameters }).client(),
);

function stream(reads: readonly Uint8Array[]) {
  const config = { apiKey, baseURL: baseUrl, fetch: fetchOf(reads), maxRetries: 0 };
  return chat({
    adapter: new OpenAIChatCompletionsTextAdapter(config, 'gpt-5.5'),
    messages: [{ role: 'user', content: prompt }],
    tools: clientTools,
  });
}

/** Iterates over events. The library does not fold them, so `ManualFold` appends them. */
export const tanstackChat: Candidate = {
  name: candidateName('@tanstack/ai', 'chat, appended by hand'),
  run: async (reads) => {
    const fold = new ManualFold();
    for await (const event of stream(reads)) {
      if (event.type === 'TEXT_MESSAGE_CONTENT') fold.addText(event.delta);
      if (event.type === 'TOOL_CALL_ARGS') fold.addArguments(event.toolCallId, event.delta);
      if (event.type === 'RUN_ERROR') throw new Error(event.message);
    }
    return fold.result;
  },
};

/** Builds the messages after each event, like the library's own client. */
export const tanstackProcessor: Candidate = {
  name: candidateName('@tanstack/ai', 'chat with its processor'),
  run: async (reads) => {
    let last: readonly UIMessage[] = [];
    const events = {
      onMessagesChange: (messages: UIMessage[]) => {
        last = messages;
      },
    };
    await new StreamProcessor({ events }).process(stream(reads));
    const answers = last.filter(({ role }) => role === 'assistant');
    const parts = answers.flatMap((message) => message.parts);
    return { characters: parts.reduce((sum, part) => sum + lengthOf(part), 0) };
  },
};

function lengthOf(part: UIMessage['parts'][number]): number {
  if (part.type === 'text') return part.content.length;
  return part.type === 'tool-call' ? part.arguments.length : 0;
}
