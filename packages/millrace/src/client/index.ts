export * from '@millrace/client';
