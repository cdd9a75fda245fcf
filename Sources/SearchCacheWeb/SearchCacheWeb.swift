// Without the trait Web this module is empty.
