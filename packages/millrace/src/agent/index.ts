export * from '@millrace/agent';
