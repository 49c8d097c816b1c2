import { type ToolCallId, textHash } from '@millrace/core';

/** What a question is about, other than a call of the session's model. */
type QuestionKind = 'form' | 'guardrail' | 'sub-agent';

/**
 * Returns the id of a question that is not about a call of the session's model. Every process computes the same
 * id from the same parts.
 *
 * A person answers a question by its id, and models, servers and clients choose some of the parts. So the id is
 * a cryptographic hash of all parts: two questions never share an id, whatever the length of their parts.
 */
export function questionId(kind: QuestionKind, parts: readonly unknown[]): ToolCallId {
  return `question-${textHash(JSON.stringify([kind, ...parts]))}` as ToolCallId;
}
