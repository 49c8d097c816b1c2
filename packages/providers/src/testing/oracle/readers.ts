import type { Wire } from '../recordings.ts';
import { readAnthropic } from './anthropic.ts';
import { readChat } from './chat.ts';
import type { Expected } from './expected.ts';
import { readGemini } from './gemini.ts';
import { readResponses } from './responses.ts';

export const readers: Readonly<Record<Wire, (lines: readonly string[]) => Expected>> = {
  'openai-chat': readChat,
  'openai-responses': readResponses,
  anthropic: readAnthropic,
  gemini: readGemini,
};
