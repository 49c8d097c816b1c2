export * from '@millrace/core/spans';
