export * from '@millrace/agent/remote';
