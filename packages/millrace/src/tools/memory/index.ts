export * from '@millrace/tools/memory';
