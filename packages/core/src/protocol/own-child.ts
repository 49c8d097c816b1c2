import type { SessionId } from '../ids.ts';

/** The fields of `tool_execution_started` that link a call to the session of its sub-agent. */
interface ChildLink {
  readonly child?: SessionId | undefined;
  readonly parent?: SessionId | undefined;
}

/**
 * Returns the session of the sub-agent that an execution runs, if `session` started this sub-agent. A fork copies
 * the records of its original, so it contains links to sub-agents that belong to the original. Programs must not
 * read, continue or stop a sub-agent through such a copy.
 */
export function ownChild(link: ChildLink | undefined, session: SessionId): SessionId | undefined {
  return link?.parent === session ? link.child : undefined;
}
