import type { Model, ModelProvider } from '@openai/agents';
import { ApplicationFailure } from '@temporalio/workflow';
import type { TaskRun } from './task-run.ts';

/** Models whose answers are activities. */
export function workflowModels(task: TaskRun): ModelProvider {
  return {
    getModel: (name): Model => ({
      getResponse: (request) => task.respond(name || undefined, request),
      getStreamedResponse: () => {
        throw refused(name);
      },
    }),
  };
}

function refused(name: string | undefined): ApplicationFailure {
  const message = `Cannot stream model ${name || 'of the agent'} in workflow code: it does I/O, which a workflow must not. Run the agent without \`stream\`: getResponse streams to the log by an activity, as autoSend(…) does; or use a streaming context in your own activity: streamingContext(…)`;
  return ApplicationFailure.nonRetryable(message, 'millrace.stream_in_workflow');
}
