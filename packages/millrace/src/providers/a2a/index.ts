export * from '@millrace/providers/a2a';
