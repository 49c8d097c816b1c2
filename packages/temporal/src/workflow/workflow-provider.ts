import { ApplicationFailure } from '@temporalio/workflow';

/** A provider, by its name: in a workflow there is nothing else of it. */
export interface WorkflowProvider {
  readonly name: string;
  /** Refuses: a workflow does no I/O. */
  stream(...given: readonly unknown[]): never;
  /** Refuses, too. */
  complete(...given: readonly unknown[]): never;
  [Symbol.asyncIterator](): AsyncIterator<never>;
}

/** Stands for a provider in workflow code, for `autoSend`. Whoever iterates it is told what to do instead. */
export function workflowProvider(name: string): WorkflowProvider {
  const refuse = (): never => {
    throw refused(name);
  };
  return { name, stream: refuse, complete: refuse, [Symbol.asyncIterator]: refuse };
}

function refused(name: string): ApplicationFailure {
  const message = `Cannot stream provider ${name} in workflow code: it does I/O, which a workflow must not. Use autoSend({ provider, … }), or a streaming context in your own activity: streamingContext(…)`;
  return ApplicationFailure.nonRetryable(message, 'millrace.stream_in_workflow');
}
