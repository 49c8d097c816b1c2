export * from '@millrace/tools';
