import { ActivityFailure, ApplicationFailure } from '@temporalio/workflow';

/** What came of one whose lease is another's is nothing; any other failure goes on. */
export function unlessFenced(error: unknown): undefined {
  if (typeOf(error) !== 'millrace.fenced') throw error;
}

/** Ends a workflow whose session was deleted: what would go on is another conversation. */
export function gone(session: string): ApplicationFailure {
  const message = `Cannot go on with session ${session}: it was deleted while its workflow ran`;
  return ApplicationFailure.nonRetryable(message, 'millrace.no_session');
}

/** As retry policies know it. */
export function typeOf(error: unknown): string | undefined {
  const cause = error instanceof ActivityFailure ? error.cause : error;
  if (cause instanceof ApplicationFailure) return cause.type ?? undefined;
  return cause instanceof Error ? cause.name : undefined;
}
