export * from '@millrace/agent/evals';
