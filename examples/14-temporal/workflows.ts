// Temporal bundles this file as workflow code. Export your own workflows here too.
export { agentWorkflow } from '@millrace/temporal/workflow';
