import type { RunResult } from '@millrace/agent';

import { modeTexts } from '../../agent/session-mode.ts';
import type { BuiltAgent } from '../../contract/agent.ts';
import type { SessionMode } from '../../contract/config.ts';
import type { Conversation } from '../session/conversation.ts';
import type { OpenQuestions } from './open-questions.ts';

/** The answer that changes nothing. */
const keepPlanning = 'Keep planning';
/** The message that starts the work on a plan. */
const goMessage = 'Go: carry out the plan.';

/** The parts of the chat that the question uses. */
interface Chat {
  readonly built: Pick<BuiltAgent, 'mode' | 'modes'>;
  readonly conversation: Pick<Conversation, 'hasQueued' | 'send'>;
  setMode(mode: SessionMode): void;
}

/**
 * Asks whether to carry out the plan, after a run in plan mode has ended with an answer. The user can go ahead
 * in one of the other modes, keep planning, or type a message.
 */
export async function askToGo(
  { stop }: RunResult,
  chat: Chat,
  ask: OpenQuestions['ask'],
): Promise<void> {
  const { built, conversation } = chat;
  const isOver = stop.reason === 'stop' && !conversation.hasQueued;
  if (built.mode() !== 'plan' || !isOver) return;
  const ways = built.modes.flatMap((mode) =>
    mode === 'plan' ? [] : [{ mode, label: `Go: ${modeTexts[mode].label}` }],
  );
  const options = [...ways.map(({ label }) => ({ label })), { label: keepPlanning }];
  const asked = { question: 'Go ahead with this plan?', options, multiple: false };
  const answer = await ask(asked, new AbortController().signal);
  if (typeof answer !== 'string' || answer === keepPlanning) return;
  // The user may have opened a different session.
  if (conversation !== chat.conversation) return;
  const way = ways.find(({ label }) => label === answer);
  if (way !== undefined) chat.setMode(way.mode);
  await conversation.send(way === undefined ? answer : goMessage);
}
