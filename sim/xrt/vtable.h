// vtable.h : Replaces virtual functions of a C++ object of another library. Copies its vtable,
// replaces the entries that point to given symbols, and gives the copy to the object. Makes no
// assumption about the layout of the object or the index of an entry.
#ifndef VTABLE_H
#define VTABLE_H
#include <string>
#include <vector>

class Vtable
{
  public:
    // Copies the table with this symbol from a library that dlopen() has opened. If the symbol is
    // not found, sets `missing`.
    Vtable(void *library, const char *symbol);

    // Redirects calls of `symbol` to `function`. Returns the old function. If the symbol is not
    // found, returns nullptr and sets `missing`.
    void *replace(const char *symbol, void *function);
    void give_to(void *object) const;

    std::string missing;  // "", or the first symbol not found

  private:
    void *library;
    std::vector<void *> words;
};

#endif
