export * from '@millrace/agent/devtools';
