import type { Candidate } from '../candidate.ts';
import { aiFullStream, aiMessages } from './ai.ts';
import { openaiIteration, openaiStream } from './openai.ts';
import { openaiAgents } from './openai-agents.ts';
import { piAi } from './pi-ai.ts';
import { tanstackChat, tanstackProcessor } from './tanstack.ts';

export const peers: readonly Candidate[] = [
  openaiIteration,
  openaiStream,
  openaiAgents,
  tanstackChat,
  tanstackProcessor,
  aiFullStream,
  aiMessages,
  piAi,
];
