import { formLimits, type JsonValue } from '@millrace/core';

const clippedText = '\n[shortened: the agent will do more than this text shows]';

const maxNameLength = 200;
/** Maximum length of the text of a question. The form also names the remote agent. */
const maxQuestionLength = formLimits.messageLength - maxNameLength - 50;

/** Returns the text of a form: the name of the remote agent, and then its question. */
export function namedQuestion(agent: string, text: string): string {
  // The text could otherwise pretend to be a question of this program.
  return `The remote agent ${agent.slice(0, maxNameLength)} asks:\n\n${questionText(text)}`;
}

/** Returns the text of a question. A text that is too long for a form ends with a mark. */
export function questionText(text: string, maxLength: number = maxQuestionLength): string {
  if (text.length <= maxLength) return text.toWellFormed();
  return `${text.slice(0, maxLength - clippedText.length).toWellFormed()}${clippedText}`;
}

/**
 * Returns the text of a question, with the name and the input of the call that the question is about. If the
 * text is too long, the message is shortened first, because a user needs the input for a decision. The input is
 * shortened only if it is longer than half of the limit.
 */
export function withCall(
  message: string,
  call: { readonly name: string; readonly input: JsonValue },
): string {
  const about = `${call.name} ${JSON.stringify(call.input)}`;
  if (message.includes(about)) return questionText(message);
  const limit = maxQuestionLength - 1;
  const shown = questionText(about, Math.max(Math.floor(limit / 2), limit - message.length));
  return `${questionText(message, limit - shown.length)}\n${shown}`;
}
