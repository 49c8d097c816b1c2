import { AgentSession } from '@millrace/temporal/workflow';
import { Runner } from '@openai/agents';
import { bookkeeper } from '../../temporal/contract/agents-activities.ts';
import { TaskRun, workflowModels } from '../../temporal/workflow/task-run.ts';
import { miller } from '../mill.ts';

/** Streams a run, and a model, which a workflow must not: gives what it is told. */
export async function streamingWorkflow(): Promise<readonly string[]> {
  const modelProvider = workflowModels(new TaskRun(new AgentSession({ agent: bookkeeper }), {}));
  const runner = new Runner({ modelProvider, tracingDisabled: true });
  const ofRun = await told(() => runner.run(miller, 'Bread?', { stream: true }));
  const model = await modelProvider.getModel('clever');
  const ofModel = await told(async () => model.getStreamedResponse({} as never));
  return [ofRun, ofModel];
}

async function told(work: () => Promise<unknown>): Promise<string> {
  try {
    await work();
    return 'nothing';
  } catch (error) {
    return String(error);
  }
}
