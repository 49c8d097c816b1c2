export * from '@millrace/server';
